/**
 * CRC-32C after an edit, without reading the bytes that did not change.
 *
 * The checksum is linear over GF(2): for two texts of equal length, crc(a) ^ crc(b) is the raw checksum
 * (no initial value, no final inversion) of a ^ b. Where a and b agree up to an edited run, that raw
 * checksum is the one of the run's difference, moved over the n equal bytes behind it. Moving over n zero
 * bytes is multiplication by x^(8n) modulo the polynomial, and x^(8n) is a product of the prepared
 * x^(8 * 2^k) for the bits k of n: O(log n) table look-ups.
 *
 * Because unchanged bytes are never read, damage done to them earlier stays visible to whoever checks next.
 */

/** The Castagnoli polynomial, bit-reversed as the byte-wise algorithm wants it. */
const POLYNOMIAL = 0x82f63b78;

/** Distances up to 2^31 - 1 bytes: no batch can be longer, its length is an int32. */
const DISTANCE_BITS = 31;

/**
 * `MOVE[k * 1024 + j * 256 + b]`: what byte j of a checksum with value b becomes when moved over 2^k zero
 * bytes. The four look-ups of one k are XORed. 124 KiB; a batch of 16 KiB touches at most 14 of the 31 KiB
 * sized rows, mostly the same ones.
 */
const MOVE = buildMoveTables();

/** `BYTE_RUN[j * 256 + b]`: raw checksum of byte b followed by j zero bytes; j = 0 … 7. */
const BYTE_RUN = buildByteRunTables();

/**
 * The checksum of a text after a run of it was edited.
 *
 * @param crc checksum before the edit
 * @param before the run as it was
 * @param after the run as it is now, same length
 * @param bytesFollowing number of checksummed bytes behind the run
 * @throws RangeError when the lengths differ or `bytesFollowing` is not 0 … 2^31-1
 */
export function patchCrc32c(
  crc: number,
  before: Uint8Array,
  after: Uint8Array,
  bytesFollowing: number,
): number {
  if (before.length !== after.length) {
    throw new RangeError(`an edited run must keep its length: ${before.length} became ${after.length} bytes`);
  }
  if (!(bytesFollowing >= 0 && bytesFollowing <= 0x7fff_ffff) || !Number.isInteger(bytesFollowing)) {
    throw new RangeError(`bytes behind the edited run: ${bytesFollowing} is not in 0 ... 2^31-1`);
  }
  let raw = 0;
  for (let i = 0; i < before.length; i++) {
    const difference = (before[i] as number) ^ (after[i] as number);
    raw = (BYTE_RUN[(raw ^ difference) & 0xff] as number) ^ (raw >>> 8);
  }
  return (crc ^ moveOverZeros(raw, bytesFollowing)) >>> 0;
}

/**
 * As `patchCrc32c` for an edited run of 8 bytes given as the XOR difference of its two big-endian halves.
 * Unchecked and free of allocation: the hot path of a producer id.
 */
export function patchCrc32c8(
  crc: number,
  differenceHi: number,
  differenceLo: number,
  bytesFollowing: number,
): number {
  const raw =
    (BYTE_RUN[1792 + (differenceHi >>> 24)] as number) ^
    (BYTE_RUN[1536 + ((differenceHi >>> 16) & 0xff)] as number) ^
    (BYTE_RUN[1280 + ((differenceHi >>> 8) & 0xff)] as number) ^
    (BYTE_RUN[1024 + (differenceHi & 0xff)] as number) ^
    (BYTE_RUN[768 + (differenceLo >>> 24)] as number) ^
    (BYTE_RUN[512 + ((differenceLo >>> 16) & 0xff)] as number) ^
    (BYTE_RUN[256 + ((differenceLo >>> 8) & 0xff)] as number) ^
    (BYTE_RUN[differenceLo & 0xff] as number);
  return (crc ^ moveOverZeros(raw, bytesFollowing)) >>> 0;
}

/** A raw checksum moved over `distance` zero bytes. */
function moveOverZeros(raw: number, distance: number): number {
  let moved = raw;
  for (let row = 0, rest = distance; rest !== 0; row += 1024, rest >>>= 1) {
    if ((rest & 1) === 0) continue;
    moved =
      (MOVE[row + (moved & 0xff)] as number) ^
      (MOVE[row + 256 + ((moved >>> 8) & 0xff)] as number) ^
      (MOVE[row + 512 + ((moved >>> 16) & 0xff)] as number) ^
      (MOVE[row + 768 + (moved >>> 24)] as number);
  }
  return moved;
}

/** One zero byte onward, bit by bit: only used to build the tables. */
function stepByte(raw: number): number {
  let value = raw;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
}

function buildMoveTables(): Int32Array {
  const tables = new Int32Array(DISTANCE_BITS * 1024);
  // Images of the 32 single-bit checksums; each row of the table is spanned from them, and moving them over
  // a row once more doubles the distance.
  let images = Int32Array.from({ length: 32 }, (_, bit) => stepByte((1 << bit) >>> 0));
  for (let k = 0; k < DISTANCE_BITS; k++) {
    const row = k * 1024;
    for (let j = 0; j < 4; j++) {
      for (let b = 1; b < 256; b++) {
        const lowestBit = 31 - Math.clz32(b & -b);
        tables[row + j * 256 + b] =
          (tables[row + j * 256 + (b & (b - 1))] as number) ^ (images[j * 8 + lowestBit] as number);
      }
    }
    images = images.map(
      (image) =>
        (tables[row + (image & 0xff)] as number) ^
        (tables[row + 256 + ((image >>> 8) & 0xff)] as number) ^
        (tables[row + 512 + ((image >>> 16) & 0xff)] as number) ^
        (tables[row + 768 + (image >>> 24)] as number),
    );
  }
  return tables;
}

function buildByteRunTables(): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let b = 0; b < 256; b++) {
    let raw = b;
    for (let j = 0; j < 8; j++) {
      raw = stepByte(raw);
      tables[j * 256 + b] = raw;
    }
  }
  return tables;
}
