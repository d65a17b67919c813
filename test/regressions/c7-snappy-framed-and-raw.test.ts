import { compressSync } from 'snappy';
import { expect, test } from 'vitest';
import { buildBatch, encodeRecords } from '../../protocol/records/build.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import { mapProducerIdInPlace } from '../../protocol/records/ids.ts';
import { readRecords } from '../../protocol/records/records.ts';
import { golden } from '../unit/protocol/records/golden.ts';
import { pseudoRandomBytes } from '../unit/protocol/records/random-bytes.ts';

/** kafka-protocol-rs 79: Java frames snappy in the xerial way, and decoders of the raw form fail on it. */

const records = Array.from({ length: 50 }, (_, i) => ({ timestamp: 5n, value: pseudoRandomBytes(2000, i) }));
const plain = encodeRecords(records, 5n);

/** The records in blocks of this many plain bytes, framed. */
function framed(blockBytes: number): Buffer {
  const parts: Buffer[] = [Buffer.from('82534e41505059000000000100000001', 'hex')];
  for (let at = 0; at < plain.length; at += blockBytes) {
    const block = compressSync(plain.subarray(at, at + blockBytes), { copyOutputData: true });
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

function batchWith(section: Buffer): Buffer {
  const shell = buildBatch({
    records: [],
    attributes: 2,
    recordCount: 50,
    lastOffsetDelta: 49,
    baseTimestamp: 5n,
  });
  const batch = Buffer.concat([shell, section]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeUInt32BE(crc32c(batch, 21), 17);
  return batch;
}

function values(batch: Buffer): string[] {
  return [...readRecords(batch)].map((record) => record.value?.toString('hex') ?? '');
}

const wanted = records.map((record) => record.value.toString('hex'));

test('raw snappy, as librdkafka and franz-go write it', () => {
  expect(values(batchWith(compressSync(plain, { copyOutputData: true })))).toEqual(wanted);
});

test.each([plain.length, 32 * 1024, 1000, 17])('framed snappy in chunks of %i bytes', (blockBytes) => {
  expect(values(batchWith(framed(blockBytes)))).toEqual(wanted);
});

test('two framed streams joined', () => {
  const header = 16;
  const stream = framed(plain.length);
  const joined = Buffer.concat([stream.subarray(0, header), stream]);
  expect(values(batchWith(joined))).toEqual(wanted);
});

test('the framed batch of the Java client', () => {
  expect([...readRecords(golden('large-snappy'))]).toHaveLength(120);
});

test('forwarding a framed batch leaves every byte of its payload as it was', () => {
  const batch = golden('large-snappy');
  const before = Buffer.from(batch);
  batch.writeBigInt64BE(9n, 43);
  batch.writeUInt32BE(crc32c(batch, 21), 17);
  expect(mapProducerIdInPlace(batch, 0)).toBe('mapped');
  expect(batch.subarray(61).equals(before.subarray(61))).toBe(true);
});
