import { connect } from 'node:net';
import { compiledHelpers } from './java-classes.ts';
import type { KafkaVersion } from './kafka-home.ts';

/** What a helper did that ran to its end. */
export interface HelperRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Handed down to the workers of a test run, which set-up makes before it starts them. */
const variable = (version: KafkaVersion): string => `ISTHMUS_HELPER_HOST_${version.replaceAll('.', '_')}`;

export function announceHost(version: KafkaVersion, port: number | undefined): void {
  if (port === undefined) delete process.env[variable(version)];
  else process.env[variable(version)] = String(port);
}

/** Port of the JVM that runs helpers of this release (HelperHost.java), if one was started for this test run. */
export function helperHost(version: KafkaVersion): number | undefined {
  const port = process.env[variable(version)];
  return port === undefined || compiledHelpers(version) === undefined ? undefined : Number(port);
}

/** One helper, run to its end inside the host; it has nothing on standard input. @throws Error when the host is lost */
export function runInHost(port: number, words: readonly string[]): Promise<HelperRun> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const text = { o: [] as Buffer[], e: [] as Buffer[], x: [] as Buffer[] };
    let left = Buffer.alloc(0);
    socket.once('error', reject);
    socket.once('connect', () => socket.write(request(words)));
    socket.on('data', (chunk) => {
      left = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
      while (left.length >= 5 && left.length >= 5 + left.readInt32BE(1)) {
        const end = 5 + left.readInt32BE(1);
        text[left.toString('latin1', 0, 1) as keyof typeof text].push(left.subarray(5, end));
        left = left.subarray(end);
      }
    });
    socket.once('close', () => {
      if (text.x.length === 0) reject(new Error(`the host of ${words[0]} is gone\n${joined(text.e)}`));
      else resolve({ code: Number(joined(text.x)), stdout: joined(text.o), stderr: joined(text.e) });
    });
  });
}

const joined = (pieces: readonly Buffer[]): string => Buffer.concat(pieces).toString('utf8');

/** Java's writeInt and writeUTF; the words are plain ASCII. */
function request(words: readonly string[]): Buffer {
  const pieces = [Buffer.alloc(4)];
  pieces[0]?.writeInt32BE(words.length);
  for (const word of words) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(word));
    pieces.push(length, Buffer.from(word));
  }
  return Buffer.concat(pieces);
}
