import { closeSync, openSync, readSync } from 'node:fs';

export type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly line: number };

/** A whole text file, a pipe too, of at most so many bytes: what never ends is not read to its end. */
export function readText(path: string, mostBytes: number): TextRead {
  let bytes: Buffer;
  try {
    bytes = readBytes(path, mostBytes + 1);
  } catch (error) {
    return refuse(why(error as NodeJS.ErrnoException));
  }
  if (bytes.length > mostBytes) return refuse(`the file is larger than ${size(mostBytes)}`);
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16) return refuse('the file is UTF-16; save it as UTF-8');
  const text = bytes.toString('utf8');
  // decoding is only lossy when a byte is wrong, and then the length or the bytes differ
  if (text.includes('\uFFFD') && !Buffer.from(text).equals(bytes)) {
    const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length;
    return refuse('the file is not UTF-8; save it as UTF-8', line);
  }
  return { ok: true, text };
}

function readBytes(path: string, most: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; length < most; ) {
      const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, most - length));
      const got = readSync(file, chunk);
      if (got === 0) break;
      chunks.push(chunk.subarray(0, got));
      length += got;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}

function why({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'this is a folder; name a file in it';
    case 'EACCES':
      return 'no right to read the file (EACCES)';
    default:
      return `the file can't be read (${code ?? message})`;
  }
}

function size(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${bytes / (1024 * 1024)} MiB` : `${bytes / 1024} KiB`;
}

function refuse(message: string, line = 1): TextRead {
  return { ok: false, message, line };
}
