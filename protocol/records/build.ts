import { varintSize, varlongSize, writeVarint, writeVarlong } from '../primitives/varint.ts';
import {
  ATTRIBUTES_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  LOG_OVERHEAD,
  MAGIC_AT,
  MAX_TIMESTAMP_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORDS_AT,
  RECORD_COUNT_AT,
  attributesOf,
  setBaseOffset,
} from './batch.ts';
import { compress } from './compression.ts';
import { crc32c } from './crc32c.ts';

/** A record to be written. Strings are UTF-8; absent key, value or header value is null. */
export interface RecordInput {
  /** Milliseconds; default is the base timestamp of the batch. */
  readonly timestamp?: bigint;
  /** Default: the record's place in the list. */
  readonly offsetDelta?: number;
  readonly key?: Uint8Array | string | null;
  readonly value?: Uint8Array | string | null;
  readonly headers?: readonly { key: Uint8Array | string; value: Uint8Array | string | null }[];
}

/**
 * A v2 batch to be built. Each header field may be given, true or not: a probe needs a `lastOffsetDelta`
 * that no broker accepts, a test needs a wrong CRC. What is left out is what an honest plain producer writes
 * (Java's defaults: producer id, epoch, sequence and leader epoch -1).
 */
export interface BatchInput {
  readonly records: readonly RecordInput[];
  readonly baseOffset?: number;
  readonly partitionLeaderEpoch?: number;
  readonly magic?: number;
  /** Default: the right one. */
  readonly crc?: number;
  /** Codec number of the attributes; the records are compressed with it. */
  readonly codec?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  readonly logAppendTime?: boolean;
  /** The whole attributes word in place of the four above; the records are still compressed by `codec`. */
  readonly attributes?: number;
  /** Default: the last record's delta, -1 without records. */
  readonly lastOffsetDelta?: number;
  /** Default: the first record's time, -1 without records. */
  readonly baseTimestamp?: bigint;
  /** Default: the greatest time of a record. */
  readonly maxTimestamp?: bigint;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  /** Default: the number of records. */
  readonly recordCount?: number;
}

/** Builds one batch into a buffer of its own, CRC computed over the result. */
export function buildBatch(input: BatchInput): Buffer {
  const { records } = input;
  const baseTimestamp = input.baseTimestamp ?? records[0]?.timestamp ?? -1n;
  const codec = input.codec ?? 0;
  const plain = encodeRecords(records, baseTimestamp);
  const section = records.length === 0 ? plain : compress(codec, plain);

  const batch = Buffer.alloc(RECORDS_AT + section.length);
  setBaseOffset(batch, 0, input.baseOffset ?? 0);
  batch.writeInt32BE(batch.length - LOG_OVERHEAD, BATCH_LENGTH_AT);
  batch.writeInt32BE(input.partitionLeaderEpoch ?? -1, LEADER_EPOCH_AT);
  batch.writeInt8(input.magic ?? 2, MAGIC_AT);
  batch.writeInt16BE(input.attributes ?? attributesOf(input), ATTRIBUTES_AT);
  batch.writeInt32BE(input.lastOffsetDelta ?? lastDelta(records), LAST_OFFSET_DELTA_AT);
  batch.writeBigInt64BE(baseTimestamp, BASE_TIMESTAMP_AT);
  batch.writeBigInt64BE(input.maxTimestamp ?? latest(records, baseTimestamp), MAX_TIMESTAMP_AT);
  batch.writeBigInt64BE(input.producerId ?? -1n, PRODUCER_ID_AT);
  batch.writeInt16BE(input.producerEpoch ?? -1, PRODUCER_EPOCH_AT);
  batch.writeInt32BE(input.baseSequence ?? -1, BASE_SEQUENCE_AT);
  batch.writeInt32BE(input.recordCount ?? records.length, RECORD_COUNT_AT);
  section.copy(batch, RECORDS_AT);
  batch.writeUInt32BE(input.crc ?? crc32c(batch, ATTRIBUTES_AT), CRC_AT);
  return batch;
}

/** The plain records section of a batch. */
export function encodeRecords(records: readonly RecordInput[], baseTimestamp: bigint): Buffer {
  const ready = records.map((record, index) => prepare(record, index, baseTimestamp));
  const total = ready.reduce((sum, record) => sum + varintSize(record.size) + record.size, 0);
  const out = Buffer.alloc(total);
  let at = 0;
  for (const record of ready) at = writeRecord(out, at, record);
  return out;
}

interface ReadyRecord {
  readonly size: number;
  readonly timestampDelta: bigint;
  readonly offsetDelta: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly { key: Uint8Array; value: Uint8Array | null }[];
}

function prepare(record: RecordInput, index: number, baseTimestamp: bigint): ReadyRecord {
  const timestampDelta = BigInt.asIntN(64, (record.timestamp ?? baseTimestamp) - baseTimestamp);
  const offsetDelta = record.offsetDelta ?? index;
  const key = toBytes(record.key);
  const value = toBytes(record.value);
  const headers = (record.headers ?? []).map((header) => ({
    key: toBytes(header.key) ?? Buffer.alloc(0),
    value: toBytes(header.value),
  }));
  let size = 1 + varlongSize(timestampDelta) + varintSize(offsetDelta) + bytesSize(key) + bytesSize(value);
  size += varintSize(headers.length);
  for (const header of headers) size += bytesSize(header.key) + bytesSize(header.value);
  return { size, timestampDelta, offsetDelta, key, value, headers };
}

function writeRecord(out: Buffer, start: number, record: ReadyRecord): number {
  let at = writeVarint(out, start, record.size);
  out[at++] = 0;
  at = writeVarlong(out, at, record.timestampDelta);
  at = writeVarint(out, at, record.offsetDelta);
  at = writeBytes(out, at, record.key);
  at = writeBytes(out, at, record.value);
  at = writeVarint(out, at, record.headers.length);
  for (const header of record.headers) {
    at = writeBytes(out, at, header.key);
    at = writeBytes(out, at, header.value);
  }
  return at;
}

function toBytes(value: Uint8Array | string | null | undefined): Uint8Array | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}

function bytesSize(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length;
}

function writeBytes(out: Buffer, at: number, bytes: Uint8Array | null): number {
  if (bytes === null) return writeVarint(out, at, -1);
  const start = writeVarint(out, at, bytes.length);
  out.set(bytes, start);
  return start + bytes.length;
}

function lastDelta(records: readonly RecordInput[]): number {
  const last = records[records.length - 1];
  return last === undefined ? -1 : (last.offsetDelta ?? records.length - 1);
}

function latest(records: readonly RecordInput[], baseTimestamp: bigint): bigint {
  let latestTime: bigint | undefined;
  for (const record of records) {
    const time = record.timestamp ?? baseTimestamp;
    if (latestTime === undefined || time > latestTime) latestTime = time;
  }
  return latestTime ?? -1n;
}
