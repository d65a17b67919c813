import { Reader, createRecordsBatch, readRecordsBatch } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readHeader } from '../../protocol/records/batch.ts';
import { buildBatch } from '../../protocol/records/build.ts';
import { mapProducerIdInPlace } from '../../protocol/records/ids.ts';
import { isCrcValid, readRecords } from '../../protocol/records/records.ts';

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
// The library's varints lose bits beyond 31, so times lie within 12 days; far ones are held against Java's bytes.
const START = 1796031787239n;
const record = fc.record({
  key: fc.option(bytes, { nil: undefined }),
  value: bytes,
  timestamp: fc.bigInt(START, START + 2n ** 30n),
  headers: fc.array(fc.tuple(bytes, bytes), { maxLength: 4 }),
});
const batch = fc.record({
  records: fc.array(record, { minLength: 1, maxLength: 30 }),
  producerId: fc.bigInt(0n, 2n ** 60n),
  producerEpoch: fc.nat(32767),
  partitionLeaderEpoch: fc.nat(1000),
});

describe('batches of @platformatic/kafka and ours', () => {
  test.each(CODECS)('what it writes we read, also after its id was mapped (%s)', (compression) => {
    fc.assert(
      fc.property(batch, ({ records, ...header }) => {
        const messages = records.map((one) => ({
          topic: 't',
          value: one.value,
          timestamp: one.timestamp,
          headers: new Map(one.headers),
          ...(one.key === undefined ? {} : { key: one.key }),
        }));
        const theirs = Buffer.from(createRecordsBatch(messages, { ...header, compression }).buffer);
        expect(readHeader(theirs, 0)).toMatchObject({
          baseOffset: 0,
          lastOffset: records.length - 1,
          size: theirs.length,
          codec: CODECS.indexOf(compression),
          baseSequence: 0,
          ...header,
        });
        const wanted = records.map((one, offset) => ({
          offset,
          timestamp: one.timestamp,
          key: one.key ?? null,
          value: one.value,
          headers: one.headers.map(([key, value]) => [key, value]),
        }));
        expect(plain(theirs)).toEqual(wanted);
        expect(mapProducerIdInPlace(theirs, 0)).toBe('mapped');
        expect(isCrcValid(theirs, 0)).toBe(true);
        expect(plain(theirs)).toEqual(wanted);
      }),
      { numRuns: 60 },
    );
  });

  test.each(CODECS)('what we write it reads (%s)', (compression) => {
    fc.assert(
      fc.property(batch, ({ records, ...header }) => {
        const ours = buildBatch({
          ...header,
          codec: CODECS.indexOf(compression),
          records: records.map((one) => ({
            ...one,
            key: one.key ?? null,
            headers: one.headers.map(([key, value]) => ({ key, value })),
          })),
        });
        const theirs = readRecordsBatch(Reader.from(ours));
        expect(theirs).toMatchObject({
          lastOffsetDelta: records.length - 1,
          firstTimestamp: records[0]?.timestamp,
          ...header,
        });
        expect(theirs.records.map((one) => [one.key, one.value, one.headers, one.timestampDelta])).toEqual(
          records.map((one) => [
            one.key ?? null,
            one.value,
            one.headers,
            one.timestamp - (records[0]?.timestamp ?? 0n),
          ]),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('uncompressed, the bytes are the same', () => {
    fc.assert(
      fc.property(batch, ({ records, ...header }) => {
        const messages = records.map((one) => ({
          topic: 't',
          value: one.value,
          timestamp: one.timestamp,
          headers: new Map(one.headers),
          ...(one.key === undefined ? {} : { key: one.key }),
        }));
        const theirs = createRecordsBatch(messages, { ...header, compression: 'none' }).buffer;
        const ours = buildBatch({
          ...header,
          baseSequence: 0,
          records: records.map((one) => ({
            ...one,
            key: one.key ?? null,
            headers: one.headers.map(([key, value]) => ({ key, value })),
          })),
        });
        expect(ours.equals(theirs)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

function plain(batchBytes: Buffer): object[] {
  return [...readRecords(batchBytes)].map((one) => ({
    offset: one.offset,
    timestamp: one.timestamp,
    key: one.key,
    value: one.value,
    headers: one.headers.map((header) => [header.keyBytes, header.value]),
  }));
}
