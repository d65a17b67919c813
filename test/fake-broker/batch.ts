import CRC32C from 'crc-32/crc32c.js';

/** Builds and reads v2 record batches for the fake log, apart from `protocol/records`. */
export interface BatchSpec {
  readonly records: readonly { key: string | null; value: string | Buffer | null }[];
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  readonly timestamp?: number;
  readonly baseOffset?: number;
}

export function makeBatch(spec: BatchSpec): Buffer {
  const body = Buffer.concat(spec.records.map((record, index) => encodeRecord(index, record)));
  const batch = Buffer.alloc(61 + body.length);
  const timestamp = BigInt(spec.timestamp ?? 1_700_000_000_000);
  batch.writeBigInt64BE(BigInt(spec.baseOffset ?? 0), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(-1, 12);
  batch.writeInt8(2, 16);
  batch.writeInt16BE((spec.transactional === true ? 0x10 : 0) | (spec.control === true ? 0x20 : 0), 21);
  batch.writeInt32BE(spec.records.length - 1, 23);
  batch.writeBigInt64BE(timestamp, 27);
  batch.writeBigInt64BE(timestamp, 35);
  batch.writeBigInt64BE(spec.producerId ?? -1n, 43);
  batch.writeInt16BE(spec.producerEpoch ?? (spec.producerId === undefined ? -1 : 0), 51);
  batch.writeInt32BE(spec.baseSequence ?? (spec.producerId === undefined ? -1 : 0), 53);
  batch.writeInt32BE(spec.records.length, 57);
  body.copy(batch, 61);
  batch.writeUInt32BE(crcOf(batch), 17);
  return batch;
}

/** `count` small records, for tests that only count. */
export function plainBatch(count: number, spec: Omit<BatchSpec, 'records'> = {}): Buffer {
  const records = Array.from({ length: count }, (_, index) => ({ key: null, value: `value-${index}` }));
  return makeBatch({ ...spec, records });
}

export function makeMarker(spec: {
  producerId: bigint;
  producerEpoch: number;
  commit: boolean;
  coordinatorEpoch: number;
}): Buffer {
  const key = Buffer.from([0, 0, 0, spec.commit ? 1 : 0]);
  const value = Buffer.alloc(6);
  value.writeInt32BE(spec.coordinatorEpoch, 2);
  return makeBatch({
    records: [{ key: key.toString('latin1'), value }],
    producerId: spec.producerId,
    producerEpoch: spec.producerEpoch,
    baseSequence: -1,
    transactional: true,
    control: true,
  });
}

export function crcOf(batch: Buffer): number {
  return CRC32C.buf(batch.subarray(21)) >>> 0;
}

/** Splits a record set into its batches; what is cut off at the end is left out. */
export function splitBatches(records: Buffer): Buffer[] {
  const batches: Buffer[] = [];
  let at = 0;
  while (at + 12 <= records.length) {
    const size = 12 + records.readInt32BE(at + 8);
    if (at + size > records.length) break;
    batches.push(records.subarray(at, at + size));
    at += size;
  }
  return batches;
}

function encodeRecord(delta: number, record: { key: string | null; value: string | Buffer | null }): Buffer {
  const key = record.key === null ? null : Buffer.from(record.key, 'latin1');
  const value = record.value === null ? null : Buffer.from(record.value as string);
  const body = Buffer.concat([
    Buffer.from([0]),
    zigzag(0),
    zigzag(delta),
    zigzag(key?.length ?? -1),
    key ?? Buffer.alloc(0),
    zigzag(value?.length ?? -1),
    value ?? Buffer.alloc(0),
    zigzag(0),
  ]);
  return Buffer.concat([zigzag(body.length), body]);
}

function zigzag(value: number): Buffer {
  const out: number[] = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  while (rest > 0x7f) {
    out.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  out.push(rest);
  return Buffer.from(out);
}
