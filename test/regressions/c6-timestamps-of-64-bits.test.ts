import { expect, test } from 'vitest';
import { readVarlong } from '../../protocol/primitives/varint.ts';
import { buildBatch } from '../../protocol/records/build.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import { readRecords } from '../../protocol/records/records.ts';
import { golden } from '../unit/protocol/records/golden.ts';

/**
 * franz-go 324, kafka-backup 150: time deltas are 64-bit varints; decoders of five bytes break once two
 * records of a batch lie more than 24.8 days apart.
 */

const NOW = 1796031787239n;

function timesOf(batch: Buffer): bigint[] {
  return [...readRecords(batch)].map((record) => record.timestamp);
}

test('a batch of Java that mixes time 0, now and the year 2100 is exact', () => {
  expect(timesOf(golden('mixed-none'))).toEqual([NOW, 0n, NOW + 1n, 4102444800000n, NOW + 2n]);
});

test('deltas of every size, negative and of ten bytes, come back as they were written', () => {
  const times = [
    NOW,
    0n,
    NOW - 2n ** 31n,
    NOW + 2n ** 31n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    -1n,
  ];
  const batch = buildBatch({ records: times.map((timestamp) => ({ timestamp })) });
  expect(timesOf(batch)).toEqual(times);
});

test('the widest delta of ten bytes is read, one bit more is refused', () => {
  const widest = Buffer.from('ffffffffffffffffff01', 'hex');
  expect(readVarlong(widest, { at: 0 }, 10)).toBe(-(2n ** 63n));
  const wider = Buffer.from('ffffffffffffffffff03', 'hex');
  expect(readVarlong(wider, { at: 0 }, 10)).toBeUndefined();
});

test('a delta of eleven bytes is an error that names the record, not a wrong time', () => {
  const delta = Buffer.from('8080808080808080808000', 'hex');
  const body = Buffer.concat([Buffer.from([0]), delta, Buffer.from([0, 1, 1, 0])]);
  const shell = buildBatch({ records: [], recordCount: 1, lastOffsetDelta: 0, baseOffset: 70 });
  const batch = Buffer.concat([shell, Buffer.from([body.length * 2]), body]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeUInt32BE(crc32c(batch, 21), 17);
  expect(() => timesOf(batch)).toThrow(/record 0 of 1 at offset base 70: time delta is no 64-bit varint/);
});
