import CRC32C from 'crc-32/crc32c.js';

/**
 * CRC-32C (Castagnoli) of `buf[start, end)` as an unsigned 32-bit number, as Kafka stores it in a batch.
 * `seed` is the result of the bytes before, so that a checksum can be taken over chunks.
 *
 * Costs time in proportion to the bytes: for batches that are built or verified, never for one that is
 * only renamed on its way through (see `patch-crc32c.ts`).
 */
export function crc32c(buf: Uint8Array, start = 0, end: number = buf.length, seed = 0): number {
  const bytes = start === 0 && end === buf.length ? buf : buf.subarray(start, end);
  return CRC32C.buf(bytes, seed | 0) >>> 0;
}
