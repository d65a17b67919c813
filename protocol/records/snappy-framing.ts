import { readUnsignedVarint } from '../primitives/varint.ts';
import { RecordsError } from './errors.ts';

/**
 * The two forms of snappy in Kafka. Raw: one block that begins with its plain size. Xerial, written by the
 * Java client and most others: magic (8 bytes), version and lowest compatible version (int32 each), then
 * blocks, each an int32 length and a raw block. A second magic header may stand where a length would
 * (joined streams).
 */

const MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const HEADER_BYTES = 16;
/** A snappy copy of 3 bytes yields at most 64. */
const MAX_EXPANSION = 22;

export function isXerialFramed(bytes: Buffer): boolean {
  return bytes.length >= MAGIC.length && MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/**
 * Views of the blocks in a framed stream.
 * @throws RecordsError `bad-compression` when a length doesn't fit the bytes left
 */
export function xerialBlocks(bytes: Buffer): Buffer[] {
  if (bytes.length < HEADER_BYTES) throw bad('framing header cut short');
  const blocks: Buffer[] = [];
  let at = HEADER_BYTES;
  while (at < bytes.length) {
    const left = bytes.length - at;
    if (left >= HEADER_BYTES && isXerialFramed(bytes.subarray(at))) {
      at += HEADER_BYTES;
      continue;
    }
    if (left < 4) throw bad('block length cut short');
    const length = bytes.readInt32BE(at);
    if (length <= 0 || length > left - 4) throw bad(`block of ${length} bytes with ${left - 4} left`);
    blocks.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return blocks;
}

/**
 * The plain size a raw block declares, refused when no block of this length could yield it: the decoder
 * allocates it before it looks further.
 * @throws RecordsError `bad-compression`
 */
export function rawSnappySize(block: Buffer): number {
  const size = readUnsignedVarint(block, { at: 0 }, block.length);
  if (size < 0) throw bad('no plain size');
  if (size > block.length * MAX_EXPANSION) {
    throw bad(`${block.length} bytes can't hold the ${size} they declare`);
  }
  return size;
}

function bad(reason: string): RecordsError {
  return new RecordsError('bad-compression', `snappy: ${reason}`);
}
