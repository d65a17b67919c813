/**
 * A record batch of format 2 where it lies: getters and setters over `(buf, at)`, no object per batch.
 *
 *      0  baseOffset            int64     12  partitionLeaderEpoch  int32     43  producerId      int64
 *      8  batchLength           int32     16  magic                 int8      51  producerEpoch   int16
 *                                         17  crc                   uint32    53  baseSequence    int32
 *     21  attributes            int16     27  baseTimestamp         int64     57  recordCount     int32
 *     23  lastOffsetDelta       int32     35  maxTimestamp          int64     61  records
 *
 * `batchLength` counts from byte 12. The CRC covers byte 21 to the end, so base offset and leader epoch are
 * free to change; attributes, times, producer and sequence are not.
 *
 * Getters don't check bounds beyond Node's own RangeError: walk first (`walk.ts`), then look.
 */

export const BATCH_LENGTH_AT = 8;
export const LEADER_EPOCH_AT = 12;
export const MAGIC_AT = 16;
export const CRC_AT = 17;
/** First byte that the CRC covers. */
export const ATTRIBUTES_AT = 21;
export const LAST_OFFSET_DELTA_AT = 23;
export const BASE_TIMESTAMP_AT = 27;
export const MAX_TIMESTAMP_AT = 35;
export const PRODUCER_ID_AT = 43;
export const PRODUCER_EPOCH_AT = 51;
export const BASE_SEQUENCE_AT = 53;
export const RECORD_COUNT_AT = 57;
export const RECORDS_AT = 61;
/** Base offset and length: what precedes the counted bytes, in every message format. */
export const LOG_OVERHEAD = 12;

export const CODEC_NAMES = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
export type CodecName = (typeof CODEC_NAMES)[number];

const LOG_APPEND_TIME_BIT = 0x08;
const TRANSACTIONAL_BIT = 0x10;
const CONTROL_BIT = 0x20;

/** Every field of a batch header. Offsets are plain numbers, ids and times are bigint. */
export interface BatchHeader {
  readonly baseOffset: number;
  /** baseOffset + lastOffsetDelta: the next batch begins one behind, whatever records were compacted away. */
  readonly lastOffset: number;
  readonly batchLength: number;
  /** Bytes of the whole batch, 12 + batchLength. */
  readonly size: number;
  readonly partitionLeaderEpoch: number;
  readonly magic: number;
  readonly crc: number;
  readonly attributes: number;
  readonly lastOffsetDelta: number;
  readonly baseTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
  /** The codec number 0 … 7 of the attributes; `codecName` gives the word. */
  readonly codec: number;
  readonly isLogAppendTime: boolean;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
}

/** All header fields at once, for people and tests; hot code takes the single getters. */
export function readHeader(buf: Buffer, at: number): BatchHeader {
  return {
    baseOffset: baseOffset(buf, at),
    lastOffset: lastOffset(buf, at),
    batchLength: batchLength(buf, at),
    size: totalSize(buf, at),
    partitionLeaderEpoch: partitionLeaderEpoch(buf, at),
    magic: magic(buf, at),
    crc: storedCrc(buf, at),
    attributes: attributes(buf, at),
    lastOffsetDelta: lastOffsetDelta(buf, at),
    baseTimestamp: baseTimestamp(buf, at),
    maxTimestamp: maxTimestamp(buf, at),
    producerId: producerId(buf, at),
    producerEpoch: producerEpoch(buf, at),
    baseSequence: baseSequence(buf, at),
    recordCount: recordCount(buf, at),
    codec: compressionOf(buf, at),
    isLogAppendTime: isLogAppendTime(buf, at),
    isTransactional: isTransactional(buf, at),
    isControl: isControl(buf, at),
  };
}

/** A plain number; above 2^53-1 it is inexact and still greater, so a range check against that is right. */
export function baseOffset(buf: Buffer, at: number): number {
  return buf.readInt32BE(at) * 0x1_0000_0000 + buf.readUInt32BE(at + 4);
}

export function lastOffset(buf: Buffer, at: number): number {
  return baseOffset(buf, at) + lastOffsetDelta(buf, at);
}

export function batchLength(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + BATCH_LENGTH_AT);
}

/** Bytes of the whole batch: 12 + batchLength. */
export function totalSize(buf: Buffer, at: number): number {
  return LOG_OVERHEAD + buf.readInt32BE(at + BATCH_LENGTH_AT);
}

export function partitionLeaderEpoch(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + LEADER_EPOCH_AT);
}

export function magic(buf: Buffer, at: number): number {
  return buf.readInt8(at + MAGIC_AT);
}

/** The checksum that the batch claims, unsigned. */
export function storedCrc(buf: Buffer, at: number): number {
  return buf.readUInt32BE(at + CRC_AT);
}

export function attributes(buf: Buffer, at: number): number {
  return buf.readInt16BE(at + ATTRIBUTES_AT);
}

export function lastOffsetDelta(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + LAST_OFFSET_DELTA_AT);
}

export function baseTimestamp(buf: Buffer, at: number): bigint {
  return buf.readBigInt64BE(at + BASE_TIMESTAMP_AT);
}

export function maxTimestamp(buf: Buffer, at: number): bigint {
  return buf.readBigInt64BE(at + MAX_TIMESTAMP_AT);
}

export function producerId(buf: Buffer, at: number): bigint {
  return buf.readBigInt64BE(at + PRODUCER_ID_AT);
}

/** Upper half of the producer id, signed. */
export function producerIdHi(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + PRODUCER_ID_AT);
}

export function producerEpoch(buf: Buffer, at: number): number {
  return buf.readInt16BE(at + PRODUCER_EPOCH_AT);
}

export function baseSequence(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + BASE_SEQUENCE_AT);
}

export function recordCount(buf: Buffer, at: number): number {
  return buf.readInt32BE(at + RECORD_COUNT_AT);
}

/** Codec number 0 … 7: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd, the rest unknown. */
export function compressionOf(buf: Buffer, at: number): number {
  return (buf[at + ATTRIBUTES_AT + 1] as number) & 0x07;
}

export function codecName(codec: number): CodecName | `unknown-${number}` {
  return CODEC_NAMES[codec] ?? `unknown-${codec}`;
}

export function isLogAppendTime(buf: Buffer, at: number): boolean {
  return ((buf[at + ATTRIBUTES_AT + 1] as number) & LOG_APPEND_TIME_BIT) !== 0;
}

export function isTransactional(buf: Buffer, at: number): boolean {
  return ((buf[at + ATTRIBUTES_AT + 1] as number) & TRANSACTIONAL_BIT) !== 0;
}

export function isControl(buf: Buffer, at: number): boolean {
  return ((buf[at + ATTRIBUTES_AT + 1] as number) & CONTROL_BIT) !== 0;
}

/** The attributes word of a batch to be built. */
export function attributesOf(flags: {
  readonly codec?: number;
  readonly logAppendTime?: boolean;
  readonly transactional?: boolean;
  readonly control?: boolean;
}): number {
  return (
    (flags.codec ?? 0) |
    (flags.logAppendTime ? LOG_APPEND_TIME_BIT : 0) |
    (flags.transactional ? TRANSACTIONAL_BIT : 0) |
    (flags.control ? CONTROL_BIT : 0)
  );
}

/**
 * Whether the header claims one record for each offset it spans: the only shape that a broker appends as it
 * is. It says nothing about the deltas inside, which a stock broker doesn't check either when uncompressed.
 */
export function isDense(buf: Buffer, at: number): boolean {
  const count = recordCount(buf, at);
  return count >= 1 && count === lastOffsetDelta(buf, at) + 1;
}

/** Sets the base offset (0 on a Produce request). Not covered by the CRC. */
export function setBaseOffset(buf: Buffer, at: number, offset: number): void {
  buf.writeInt32BE(Math.floor(offset / 0x1_0000_0000), at);
  buf.writeUInt32BE(offset >>> 0, at + 4);
}

/** Sets the leader epoch (-1 on a Produce request). Not covered by the CRC. */
export function setPartitionLeaderEpoch(buf: Buffer, at: number, epoch: number): void {
  buf.writeInt32BE(epoch, at + LEADER_EPOCH_AT);
}

/**
 * What is impossible in this header of a batch stored by a broker, or undefined. `walk.ts` has checked
 * length and magic; this checks the numbers that a mirror counts with.
 */
export function headerFault(buf: Buffer, at: number): string | undefined {
  const base = baseOffset(buf, at);
  if (base < 0) return `base offset ${base} is negative`;
  const delta = lastOffsetDelta(buf, at);
  if (delta < 0) return `lastOffsetDelta ${delta} is negative`;
  if (base + delta > Number.MAX_SAFE_INTEGER) return `offset ${base + delta} is above 2^53-1`;
  const count = recordCount(buf, at);
  if (count < 0) return `record count ${count} is negative`;
  if (count > delta + 1) return `${count} records in ${delta + 1} offsets`;
  const codec = compressionOf(buf, at);
  if (codec >= CODEC_NAMES.length) return `unknown compression codec ${codec}`;
  return undefined;
}
