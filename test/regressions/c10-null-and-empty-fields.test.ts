import { expect, test } from 'vitest';
import { buildBatch } from '../../protocol/records/build.ts';
import { readRecords } from '../../protocol/records/records.ts';
import { golden } from '../unit/protocol/records/golden.ts';

/** vertx-kafka-client 313 and others: a null header value crashes the reader, or is turned into an empty one. */

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

test.each(CODECS)('in a batch of Java null stays null, empty stays empty and order is kept (%s)', (codec) => {
  const records = [...readRecords(golden(`mixed-${codec}`))];
  expect(records.map((record) => record.key?.length ?? null)).toEqual([3, null, 9, 0, null]);
  expect(records.map((record) => record.value?.length ?? null)).toEqual([5, 18, null, 0, null]);
  expect(records[4]?.headers.map((header) => [header.key, header.value?.length ?? null])).toEqual([
    ['null', null],
    ['empty', 0],
    ['', 9],
    ['null', 19],
    ['späť €', 5],
  ]);
});

test.each(CODECS)(
  'a thousand headers, every third null and every third empty, come back in order (%s)',
  (codec) => {
    const headers = Array.from({ length: 1000 }, (_, i) => ({
      key: `h${i % 7}`,
      value: i % 3 === 0 ? null : i % 3 === 1 ? '' : `${i}`,
    }));
    const batch = buildBatch({
      records: [{ key: null, value: null, headers }],
      codec: CODECS.indexOf(codec),
    });
    const [record] = readRecords(batch);
    expect(record?.key).toBeNull();
    expect(record?.value).toBeNull();
    expect(
      record?.headers.map((header) => ({ key: header.key, value: header.value?.toString() ?? null })),
    ).toEqual(headers);
  },
);

test('a header key that is no UTF-8 is kept as bytes', () => {
  const key = Buffer.from('ff00fe', 'hex');
  const [record] = readRecords(buildBatch({ records: [{ headers: [{ key, value: null }] }] }));
  expect(record?.headers[0]?.keyBytes.equals(key)).toBe(true);
});
