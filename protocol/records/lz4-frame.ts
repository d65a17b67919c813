import { RecordsError } from './errors.ts';

/**
 * A walk over the blocks of an LZ4 frame, to know how much it can hold before it is decompressed and that it
 * is whole (decoders accept one whose end mark is missing).
 *
 *     magic 04 22 4d 18 | FLG | BD | content size int64? | dictionary id int32? | header checksum
 *     { uint32 length, top bit: stored plain | bytes | uint32 checksum? } … | uint32 0 | uint32 checksum?
 */

const MAGIC = 0x184d2204;
/** One byte more of compressed input adds at most 255 of output. */
const MAX_EXPANSION = 255;

export interface Lz4FrameBound {
  /** No decoder can get more bytes out of this frame. */
  readonly maxOutputBytes: number;
  /** Bytes of the frame, end mark and content checksum included. */
  readonly frameBytes: number;
}

/** @throws RecordsError `bad-compression` when the bytes aren't one whole frame */
export function lz4FrameBound(bytes: Buffer): Lz4FrameBound {
  if (bytes.length < 7) throw bad('frame header cut short');
  if (bytes.readUInt32LE(0) !== MAGIC) throw bad('no frame magic');
  const flags = bytes[4] as number;
  if (flags >> 6 !== 1) throw bad(`frame version ${flags >> 6} is unknown`);
  const blockCode = ((bytes[5] as number) >> 4) & 7;
  if (blockCode < 4) throw bad(`block size code ${blockCode} is unknown`);
  const blockMax = 1 << (8 + 2 * blockCode);
  const blockChecksum = flags & 0x10 ? 4 : 0;
  const hasContentSize = (flags & 0x08) !== 0;
  const contentChecksum = flags & 0x04 ? 4 : 0;
  let at = 6 + (hasContentSize ? 8 : 0) + (flags & 0x01 ? 4 : 0) + 1;

  let bound = 0;
  for (;;) {
    if (bytes.length < at + 4) throw bad('frame ends without its end mark');
    const word = bytes.readUInt32LE(at);
    at += 4;
    if (word === 0) break;
    const stored = word >= 0x8000_0000;
    const length = word & 0x7fff_ffff;
    const left = bytes.length - at;
    if (length > blockMax || length + blockChecksum > left) {
      throw bad(`block of ${length} bytes with ${left} left and a limit of ${blockMax}`);
    }
    bound += stored ? length : Math.min(blockMax, length * MAX_EXPANSION);
    at += length + blockChecksum;
  }
  if (bytes.length < at + contentChecksum) throw bad('content checksum cut short');
  // A declared size is believed by some decoders before they have seen a block; it can't raise the bound, and
  // a lie below it must not lower it.
  if (hasContentSize && bytes.readBigUInt64LE(6) > BigInt(bound))
    throw bad('more content declared than the blocks can hold');
  return { maxOutputBytes: bound, frameBytes: at + contentChecksum };
}

function bad(reason: string): RecordsError {
  return new RecordsError('bad-compression', `lz4: ${reason}`);
}
