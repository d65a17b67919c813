import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { runInHost } from '../../../harness/java-host.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A host that reads one request of so many bytes, then does as told. */
async function host(
  requestBytes: number,
  answer: (socket: Socket, request: Buffer) => void,
): Promise<number> {
  const server = createServer((socket) => {
    let request = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      request = Buffer.concat([request, chunk]);
      if (request.length === requestBytes) answer(socket, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function piece(kind: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.write(kind, 'latin1');
  head.writeInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const stream = Buffer.concat([
  piece('o', 'one\ntw'),
  piece('e', 'warned\n'),
  piece('o', 'o é\n'),
  piece('o', ''),
  piece('x', '3'),
]);
const WORDS = ['ReadAll', '--topic', 't'];
const REQUEST_BYTES = 4 + 3 * 2 + 'ReadAll--topict'.length;

it('puts the pieces together wherever the stream is cut', async () => {
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const port = await host(REQUEST_BYTES, (socket, request) => {
      expect(request.toString('latin1')).toBe('\0\0\0\x03\0\x07ReadAll\0\x07--topic\0\x01t');
      socket.write(stream.subarray(0, cut), () => setImmediate(() => socket.end(stream.subarray(cut))));
    });
    const run = await runInHost(port, WORDS);
    expect(run).toEqual({ code: 3, stdout: 'one\ntwo é\n', stderr: 'warned\n' });
  }
});

it('a host that ends before the helper is an error with what was printed', async () => {
  const port = await host(REQUEST_BYTES, (socket) => socket.end(piece('e', 'out of memory')));
  await expect(runInHost(port, WORDS)).rejects.toThrow('the host of ReadAll is gone\nout of memory');
});

it('a host that is not there is an error', async () => {
  const port = await host(REQUEST_BYTES, () => undefined);
  cleanups.splice(0)[0]?.();
  await expect(runInHost(port, WORDS)).rejects.toThrow('ECONNREFUSED');
});
