import { describe, expect, test } from 'vitest';
import { buildBatch } from '../../../../../protocol/records/build.ts';
import { visitCommitted } from '../../../../../src/control/state/committed-records.ts';

const data = (baseOffset: number, keys: string[], producerId = -1n) =>
  buildBatch({
    baseOffset,
    records: keys.map((key) => ({ key, value: key, timestamp: 1n })),
    ...(producerId < 0n ? {} : { producerId, producerEpoch: 0, baseSequence: 0, transactional: true }),
  });

const marker = (baseOffset: number, producerId: bigint, type: 'ABORT' | 'COMMIT') =>
  buildBatch({
    baseOffset,
    control: true,
    transactional: true,
    producerId,
    producerEpoch: 0,
    records: [
      { key: Buffer.from([0, 0, 0, type === 'COMMIT' ? 1 : 0]), value: Buffer.alloc(6), timestamp: 1n },
    ],
  });

function read(batches: Buffer[], from = 0, aborted: { producerId: bigint; firstOffset: number }[] = []) {
  const seen: string[] = [];
  const result = visitCommitted(Buffer.concat(batches), from, aborted, ({ offset, key }) => {
    seen.push(`${offset} ${String(key)}`);
  });
  return { seen, ...result };
}

describe('committed records of a fetch answer', () => {
  test('plain and committed data are visited, markers are passed over', () => {
    expect(read([data(0, ['a', 'b']), data(2, ['c'], 7n), marker(3, 7n, 'COMMIT')])).toEqual({
      seen: ['0 a', '1 b', '2 c'],
      next: 4,
      batches: 3,
    });
  });

  test('an aborted transaction is passed over, and what the same producer does behind its marker is not', () => {
    const log = [
      data(0, ['lost'], 7n),
      data(1, ['kept'], 8n),
      marker(2, 7n, 'ABORT'),
      data(3, ['again'], 7n),
      marker(4, 8n, 'COMMIT'),
      marker(5, 7n, 'COMMIT'),
    ];
    const { seen, next } = read(log, 0, [{ producerId: 7n, firstOffset: 0 }]);
    expect(seen).toEqual(['1 kept', '3 again']);
    expect(next).toBe(6);
  });

  test('a transaction that was aborted after it began below this answer is known from the list', () => {
    const { seen } = read([data(10, ['x'], 7n), marker(11, 7n, 'ABORT')], 10, [
      { producerId: 7n, firstOffset: 2 },
    ]);
    expect(seen).toEqual([]);
  });

  test('the broker sends whole batches: what lies below the position is dropped', () => {
    expect(read([data(4, ['a', 'b', 'c'])], 6).seen).toEqual(['6 c']);
  });

  test('a batch cut off at the end is left for the next fetch', () => {
    const whole = data(0, ['a']);
    const cut = data(1, ['b']).subarray(0, -1);
    expect(read([whole, cut])).toEqual({ seen: ['0 a'], next: 1, batches: 1 });
  });

  test('nothing at all leaves the position where it is', () => {
    expect(read([], 17)).toEqual({ seen: [], next: 17, batches: 0 });
  });

  test('bytes that are no batch, and a wrong checksum, are thrown', () => {
    expect(() => read([data(0, ['a']), Buffer.alloc(80)])).toThrow(/no record batch/);
    const wrong = data(0, ['a']);
    wrong[wrong.length - 1] = (wrong.at(-1) as number) ^ 1;
    expect(() => read([wrong])).toThrow(/CRC/);
  });
});
