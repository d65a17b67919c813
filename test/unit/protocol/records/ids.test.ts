import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildBatch } from '../../../../protocol/records/build.ts';
import {
  barrierHash,
  barrierId,
  classifyId,
  fillerId,
  fillerOffset,
  hashOfBarrierId,
  mapProducerId,
  mapProducerIdInPlace,
  setProducerIdInPlace,
  unmapProducerId,
} from '../../../../protocol/records/ids.ts';
import { isCrcValid } from '../../../../protocol/records/records.ts';

const LAST_MAPPABLE = 2n ** 61n - 3n;
const EDGES = [
  -(2n ** 63n),
  -(2n ** 62n),
  -(2n ** 61n),
  -2n,
  -1n,
  0n,
  1n,
  0xffff_fffdn,
  0xffff_fffen,
  0xffff_ffffn,
  0x1_0000_0000n,
  0x1_ffff_ffffn,
  LAST_MAPPABLE - 1n,
  LAST_MAPPABLE,
  LAST_MAPPABLE + 1n,
  LAST_MAPPABLE + 2n,
  2n ** 61n,
  2n ** 62n,
  2n ** 63n - 1n,
];
const anyId = fc.oneof(fc.constantFrom(...EDGES), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n));

describe('mapping of ids', () => {
  test('a source id p becomes -(p + 2), -1 and mapped ids stay', () => {
    expect([0n, 1n, 5n, LAST_MAPPABLE].map(mapProducerId)).toEqual([-2n, -3n, -7n, -(2n ** 61n - 1n)]);
    expect([-1n, -2n, -7n, fillerId(9), barrierId('east')].map(mapProducerId)).toEqual([
      -1n,
      -2n,
      -7n,
      fillerId(9),
      barrierId('east'),
    ]);
  });

  test('a source id of 2^61 - 2 or more is refused by name', () => {
    expect(() => mapProducerId(2n ** 61n - 2n)).toThrow('2305843009213693950');
    expect(() => mapProducerId(2n ** 63n - 1n)).toThrow(RangeError);
  });

  test('mapping and back gives the source id', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, LAST_MAPPABLE), (id) => {
        expect(unmapProducerId(mapProducerId(id))).toBe(id);
      }),
    );
    expect(unmapProducerId(-1n)).toBeUndefined();
    expect(unmapProducerId(fillerId(3))).toBeUndefined();
  });
});

describe('mapping in place', () => {
  test('id and CRC are what building the batch with the mapped id gives, and no other byte differs', () => {
    fc.assert(
      fc.property(anyId, fc.nat(70), fc.nat(3000), (id, front, size) => {
        const input = { records: [{ value: Buffer.alloc(size, 1) }], producerId: id, producerEpoch: 3 };
        const batch = buildBatch(input);
        const buf = Buffer.concat([Buffer.alloc(front, 0xee), batch, Buffer.alloc(9, 0xdd)]);
        const outcome = mapProducerIdInPlace(buf, front);
        const expected = id > LAST_MAPPABLE ? 'refused' : id < 0n ? 'kept' : 'mapped';
        expect(outcome).toBe(expected);
        const wanted = outcome === 'mapped' ? buildBatch({ ...input, producerId: mapProducerId(id) }) : batch;
        expect(buf.subarray(front, front + batch.length).equals(wanted)).toBe(true);
        expect(buf.subarray(0, front).every((b) => b === 0xee)).toBe(true);
        expect(buf.subarray(front + batch.length).every((b) => b === 0xdd)).toBe(true);
      }),
      { numRuns: 500, examples: EDGES.map((id) => [id, 0, 100] as [bigint, number, number]) },
    );
  });

  test('mapping twice changes nothing the second time', () => {
    const batch = buildBatch({ records: [{ value: 'v' }], producerId: 4000n });
    mapProducerIdInPlace(batch, 0);
    const once = Buffer.from(batch);
    expect(mapProducerIdInPlace(batch, 0)).toBe('kept');
    expect(batch.equals(once)).toBe(true);
  });

  test('an id set from two halves keeps the CRC right', () => {
    fc.assert(
      fc.property(anyId, anyId, (from, to) => {
        const batch = buildBatch({ records: [{ value: 'v' }], producerId: from });
        const halves = Buffer.alloc(8);
        halves.writeBigInt64BE(to);
        setProducerIdInPlace(batch, 0, halves.readInt32BE(0), halves.readUInt32BE(4));
        expect(batch.readBigInt64BE(43)).toBe(to);
        expect(isCrcValid(batch, 0)).toBe(true);
      }),
    );
  });
});

describe('ranges of ids', () => {
  test('edges of each range fall on the right side', () => {
    const wanted: [bigint, string][] = [
      [2n ** 63n - 1n, 'local'],
      [0n, 'local'],
      [-1n, 'none'],
      [-2n, 'mapped'],
      [-(2n ** 61n) + 1n, 'mapped'],
      [-(2n ** 61n), 'filler'],
      [-(2n ** 61n) - (2n ** 53n - 1n), 'filler'],
      [-(2n ** 61n) - 2n ** 53n, 'unassigned'],
      [-(2n ** 62n) + 1n, 'unassigned'],
      [-(2n ** 62n), 'barrier'],
      [-(2n ** 62n) - 2n ** 60n + 1n, 'barrier'],
      [-(2n ** 62n) - 2n ** 60n, 'unassigned'],
      [-(2n ** 63n), 'unassigned'],
    ];
    for (const [id, name] of wanted) expect([id, classifyId(id)]).toEqual([id, name]);
  });

  test('a filler names its offset', () => {
    for (const offset of [0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      expect(fillerOffset(fillerId(offset))).toBe(offset);
    }
    for (const offset of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => fillerId(offset)).toThrow(RangeError);
  });

  test('a barrier carries the first 60 bits of SHA-256 of the source cluster id', () => {
    const hex = createHash('sha256').update('Yx9PqgBkTzG0mYy3nXv1qA').digest('hex').slice(0, 15);
    expect(barrierHash('Yx9PqgBkTzG0mYy3nXv1qA')).toBe(BigInt(`0x${hex}`));
    expect(hashOfBarrierId(barrierId('Yx9PqgBkTzG0mYy3nXv1qA'))).toBe(BigInt(`0x${hex}`));
    expect(barrierId('')).toBe(-(2n ** 62n));
  });
});
