/**
 * Rewrites a frame without copying it: the bytes between the edits stay views on the frame, so record bytes of a
 * Fetch or Produce are written from where they were read.
 */
export interface Edit {
  /** Bytes [from, to) of the frame are replaced; from = to inserts. */
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array;
}

/** Size prefix and frame, untouched. */
export function withSize(frame: Buffer): Uint8Array[] {
  return [sizePrefix(frame.length), frame];
}

/** Size prefix and the frame with `edits` (ascending, not overlapping) applied. */
export function splice(frame: Buffer, edits: readonly Edit[]): Uint8Array[] {
  const chunks: Uint8Array[] = [sizePrefix(0)];
  let at = 0;
  for (const { from, to, bytes } of edits) {
    if (from > at) chunks.push(frame.subarray(at, from));
    if (bytes.length > 0) chunks.push(bytes);
    at = to;
  }
  if (at < frame.length) chunks.push(frame.subarray(at));
  return fillSize(chunks);
}

/** Writes into the first chunk (four bytes) how many bytes follow it. */
export function fillSize(chunks: Uint8Array[]): Uint8Array[] {
  let size = 0;
  for (let index = 1; index < chunks.length; index += 1) size += (chunks[index] as Uint8Array).length;
  (chunks[0] as Buffer).writeInt32BE(size);
  return chunks;
}

export function sizePrefix(size: number): Buffer {
  const prefix = Buffer.allocUnsafe(4);
  prefix.writeInt32BE(size);
  return prefix;
}

/** An unsigned varint as bytes. */
export function uvarintBytes(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

export function int32Bytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}
