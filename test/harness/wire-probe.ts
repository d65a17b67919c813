import { connect } from 'node:net';

const METADATA = 3;

/**
 * Node ids that the broker at this address names in a Metadata v1 answer without topics. Own bytes on purpose: what
 * tells that a broker serves must not depend on the code under test. Rejects when there is no such answer in 2 s.
 */
export function probeBrokers(host: string, port: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const chunks: Buffer[] = [];
    const fail = (reason: string) => {
      socket.destroy();
      reject(new Error(`${host}:${port}: ${reason}`));
    };
    socket.setTimeout(2_000, () => fail('no answer within 2 s'));
    socket.once('error', (error) => fail(error.message));
    socket.once('end', () => fail('closed without an answer'));
    socket.once('connect', () => socket.write(metadataRequest()));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      if (bytes.length < 4 || bytes.length < 4 + bytes.readInt32BE(0)) return;
      socket.destroy();
      resolve(brokersOf(bytes));
    });
  });
}

function metadataRequest(): Buffer {
  const clientId = Buffer.from('harness');
  const frame = Buffer.alloc(4 + 10 + clientId.length + 4);
  frame.writeInt32BE(frame.length - 4, 0);
  frame.writeInt16BE(METADATA, 4);
  frame.writeInt16BE(1, 6);
  frame.writeInt32BE(1, 8);
  frame.writeInt16BE(clientId.length, 12);
  clientId.copy(frame, 14);
  frame.writeInt32BE(0, 14 + clientId.length);
  return frame;
}

function brokersOf(frame: Buffer): number[] {
  let at = 8;
  const count = frame.readInt32BE(at);
  at += 4;
  const ids: number[] = [];
  for (let i = 0; i < count; i++) {
    ids.push(frame.readInt32BE(at));
    at += 4;
    at += 2 + frame.readInt16BE(at); // host
    at += 4; // port
    at += 2 + Math.max(0, frame.readInt16BE(at)); // rack, may be null
  }
  return ids;
}
