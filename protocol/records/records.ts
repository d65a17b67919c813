import { readVarint, readVarlong } from '../primitives/varint.ts';
import {
  ATTRIBUTES_AT,
  LOG_OVERHEAD,
  RECORDS_AT,
  baseOffset,
  baseTimestamp,
  compressionOf,
  isLogAppendTime,
  magic,
  maxTimestamp,
  recordCount,
  storedCrc,
  totalSize,
} from './batch.ts';
import { DEFAULT_MAX_OUTPUT_BYTES, decompress } from './compression.ts';
import { crc32c } from './crc32c.ts';
import { RecordsError } from './errors.ts';

/**
 * Looking into a batch, record by record. For inspection, control records, rebuilding and tests: the data
 * path of mirror and gateway never opens a batch.
 */

export interface RecordHeader {
  /** The key as text; `keyBytes` where it must be kept exactly, for a key need not be valid UTF-8. */
  readonly key: string;
  readonly keyBytes: Buffer;
  readonly value: Buffer | null;
}

/** One record. Buffers are views of the batch (or of its decompressed bytes), null stays null and empty empty. */
export interface LogRecord {
  readonly offset: number;
  readonly offsetDelta: number;
  /** Milliseconds; the batch's own time when it was stamped by the broker (LogAppendTime). */
  readonly timestamp: bigint;
  readonly timestampDelta: bigint;
  readonly attributes: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly RecordHeader[];
}

export interface ReadRecordsOptions {
  /** Bound of the decompressed bytes of one batch; default 128 MiB. */
  readonly maxOutputBytes?: number;
  /** False only for a caller that has checked the CRC already. */
  readonly verifyCrc?: boolean;
}

/** Length, attributes, time delta, offset delta, key length, value length, header count: a byte each. */
const MIN_RECORD_BYTES = 7;
/** Key length and value length. */
const MIN_HEADER_BYTES = 2;

/** Whether the bytes of the whole batch at `at` agree with its CRC. */
export function isCrcValid(buf: Buffer, at: number): boolean {
  return crc32c(buf, at + ATTRIBUTES_AT, at + totalSize(buf, at)) === storedCrc(buf, at);
}

/**
 * Yields the records of the v2 batch at `at`. Order of checks: whole, format, CRC, then decompression within
 * its bound, then the records; a fault in the middle is thrown when the iteration reaches it.
 *
 * @throws RecordsError (`errors.ts`); every code but `codec-missing` means that the batch is damaged or hostile
 */
export function* readRecords(
  buf: Buffer,
  at = 0,
  options: ReadRecordsOptions = {},
): Generator<LogRecord, void> {
  const section = openRecords(buf, at, options);
  const count = recordCount(buf, at);
  const base = baseOffset(buf, at);
  const stamped = isLogAppendTime(buf, at) ? maxTimestamp(buf, at) : undefined;
  // With a delete horizon (compacted transactional topics) the field holds that time, and deltas count from it.
  const baseTime = baseTimestamp(buf, at);
  const cursor = { at: 0 };
  for (let index = 0; index < count; index++) {
    const record = readRecord(section, cursor, base, baseTime, stamped);
    if (typeof record === 'string') {
      throw new RecordsError(
        'bad-record',
        `record ${index} of ${count} at offset base ${base}: ${record}`,
        at,
      );
    }
    yield record;
  }
  if (cursor.at !== section.length) {
    const extra = section.length - cursor.at;
    throw new RecordsError(
      'bad-record',
      `${extra} bytes behind the last of ${count} records (base ${base})`,
      at,
    );
  }
}

/** The plain bytes of the records section, everything checked that can be before the first record is read. */
function openRecords(buf: Buffer, at: number, options: ReadRecordsOptions): Buffer {
  const left = buf.length - at;
  if (left < RECORDS_AT) throw new RecordsError('cut-short', `${left} bytes are no batch header`, at);
  const size = totalSize(buf, at);
  if (magic(buf, at) !== 2) {
    throw new RecordsError(
      'unsupported-format',
      `message format ${magic(buf, at)} can't be opened, only 2`,
      at,
    );
  }
  if (size < RECORDS_AT || size > left) {
    throw new RecordsError(
      'cut-short',
      `batch length ${size - LOG_OVERHEAD} with ${left - LOG_OVERHEAD} bytes left`,
      at,
    );
  }
  if ((options.verifyCrc ?? true) && !isCrcValid(buf, at)) {
    throw new RecordsError(
      'crc-mismatch',
      `CRC of the batch at base offset ${baseOffset(buf, at)} is wrong`,
      at,
    );
  }
  const count = recordCount(buf, at);
  if (count < 0) throw new RecordsError('bad-record', `record count ${count} is negative`, at);
  const packed = buf.subarray(at + RECORDS_AT, at + size);
  // A batch emptied by compaction has no section at all, whatever codec its attributes name.
  if (count === 0 && packed.length === 0) return packed;
  let section: Buffer;
  try {
    section = decompress(compressionOf(buf, at), packed, options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
  } catch (error) {
    if (error instanceof RecordsError) throw new RecordsError(error.code, error.message, at);
    throw error;
  }
  if (count > section.length / MIN_RECORD_BYTES) {
    throw new RecordsError('bad-record', `${count} records don't fit into ${section.length} bytes`, at);
  }
  return section;
}

/** One record, or what is wrong with it. */
function readRecord(
  section: Buffer,
  cursor: { at: number },
  base: number,
  baseTime: bigint,
  stamped: bigint | undefined,
): LogRecord | string {
  const length = readVarint(section, cursor, section.length);
  if (!(length >= MIN_RECORD_BYTES - 1)) return `length ${length}`;
  const end = cursor.at + length;
  if (end > section.length) return `length ${length} with ${section.length - cursor.at} bytes left`;
  const attributes = section.readInt8(cursor.at++);
  const timestampDelta = readVarlong(section, cursor, end);
  if (timestampDelta === undefined) return 'time delta is no 64-bit varint';
  const offsetDelta = readVarint(section, cursor, end);
  if (Number.isNaN(offsetDelta)) return 'offset delta is no 32-bit varint';
  const key = readBytes(section, cursor, end);
  if (typeof key === 'string') return `key: ${key}`;
  const value = readBytes(section, cursor, end);
  if (typeof value === 'string') return `value: ${value}`;
  const headers = readHeaders(section, cursor, end);
  if (typeof headers === 'string') return headers;
  if (cursor.at !== end) return `${end - cursor.at} bytes behind its headers`;
  return {
    offset: base + offsetDelta,
    offsetDelta,
    timestamp: stamped ?? BigInt.asIntN(64, baseTime + timestampDelta),
    timestampDelta,
    attributes,
    key,
    value,
    headers,
  };
}

function readHeaders(section: Buffer, cursor: { at: number }, end: number): RecordHeader[] | string {
  const count = readVarint(section, cursor, end);
  if (!(count >= 0)) return `header count ${count}`;
  if (count > (end - cursor.at) / MIN_HEADER_BYTES) return `${count} headers in ${end - cursor.at} bytes`;
  const headers: RecordHeader[] = [];
  for (let index = 0; index < count; index++) {
    const keyBytes = readBytes(section, cursor, end);
    if (typeof keyBytes === 'string') return `header ${index} key: ${keyBytes}`;
    if (keyBytes === null) return `header ${index} key is null`;
    const value = readBytes(section, cursor, end);
    if (typeof value === 'string') return `header ${index} value: ${value}`;
    headers.push({ key: keyBytes.toString('utf8'), keyBytes, value });
  }
  return headers;
}

/** Bytes behind a varint length, null for -1, or what is wrong. */
function readBytes(section: Buffer, cursor: { at: number }, end: number): Buffer | null | string {
  const length = readVarint(section, cursor, end);
  if (length === -1) return null;
  if (!(length >= 0) || length > end - cursor.at)
    return `length ${length} with ${end - cursor.at} bytes left`;
  const bytes = section.subarray(cursor.at, cursor.at + length);
  cursor.at += length;
  return bytes;
}
