import { describe, expect, test } from 'vitest';
import {
  baseOffset,
  headerFault,
  setBaseOffset,
  setPartitionLeaderEpoch,
} from '../../../../protocol/records/batch.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { isCrcValid } from '../../../../protocol/records/records.ts';
import { walkBatches } from '../../../../protocol/records/walk.ts';

const first = buildBatch({ records: [{ value: 'one' }], baseOffset: 10 });
const second = buildBatch({ records: [{ value: 'two' }, { value: 'three' }], baseOffset: 11 });
const both = Buffer.concat([first, second]);

function walk(
  buf: Buffer,
  start = 0,
  end = buf.length,
): { seen: [number, number][] } & ReturnType<typeof walkBatches> {
  const seen: [number, number][] = [];
  const result = walkBatches(buf, start, end, (at, size) => void seen.push([at, size]));
  return { seen, ...result };
}

describe('walk over batches', () => {
  test('an empty range holds nothing and nothing is partial', () => {
    expect(walk(Buffer.alloc(0))).toEqual({ seen: [], endedAt: 0, batches: 0, partial: false, needed: 0 });
  });

  test('each whole batch is visited with position and size', () => {
    const framed = Buffer.concat([Buffer.alloc(5), both, Buffer.alloc(3)]);
    expect(walk(framed, 5, 5 + both.length)).toEqual({
      seen: [
        [5, first.length],
        [5 + first.length, second.length],
      ],
      endedAt: 5 + both.length,
      batches: 2,
      partial: false,
      needed: 0,
    });
  });

  test('cut at each byte, the tail is partial and the whole batches before it are visited', () => {
    for (let end = 0; end <= both.length; end++) {
      const result = walk(both, 0, end);
      const whole = end === both.length ? 2 : end >= first.length ? 1 : 0;
      const endedAt = [0, first.length, both.length][whole] as number;
      expect(result).toMatchObject({ batches: whole, endedAt, partial: end > endedAt });
      const known = end - endedAt >= 12;
      expect(result.needed).toBe(result.partial && known ? (whole === 0 ? first : second).length : 0);
      expect(result.bad).toBeUndefined();
    }
  });

  test('hostile lengths never lead the walk beyond its range', () => {
    for (const length of [0, 1, 13, 48, -1, -2, -(2 ** 31)]) {
      const hostile = Buffer.from(both);
      hostile.writeInt32BE(length, first.length + 8);
      const result = walk(hostile);
      expect(result.bad).toMatchObject({
        at: first.length,
        reason: expect.stringContaining(`length ${length}`),
      });
      expect(result).toMatchObject({ batches: 1, endedAt: first.length, partial: false });
    }
    const unsigned = Buffer.from(both);
    unsigned.writeUInt32BE(0xffff_ffff, 8);
    expect(walk(unsigned).bad).toMatchObject({ at: 0 });
    const huge = Buffer.from(both);
    huge.writeInt32BE(2 ** 31 - 1, 8);
    expect(walk(huge)).toMatchObject({ batches: 0, endedAt: 0, partial: true, needed: 2 ** 31 + 11 });
  });

  test('an unknown format ends the walk where it stands', () => {
    for (const magic of [3, -1, 127]) {
      const odd = Buffer.from(both);
      odd.writeInt8(magic, first.length + 16);
      expect(walk(odd).bad).toEqual({ at: first.length, reason: `unknown batch format (magic ${magic})` });
    }
  });

  test('the visitor may stop the walk', () => {
    expect(walkBatches(both, 0, both.length, () => false)).toMatchObject({
      batches: 1,
      endedAt: first.length,
    });
  });
});

describe('header fields that may change freely', () => {
  test('base offset and leader epoch are set without touching the CRC', () => {
    const batch = Buffer.from(second);
    for (const offset of [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 45 + 7, Number.MAX_SAFE_INTEGER, -1]) {
      setBaseOffset(batch, 0, offset);
      setPartitionLeaderEpoch(batch, 0, -1);
      expect(batch.readBigInt64BE(0)).toBe(BigInt(offset));
      expect(baseOffset(batch, 0)).toBe(offset);
    }
    expect(isCrcValid(batch, 0)).toBe(true);
  });
});

describe('header numbers that no broker stores', () => {
  test('each is named', () => {
    const records = [{ value: 'x' }];
    const faults: [Parameters<typeof buildBatch>[0], string | undefined][] = [
      [{ records }, undefined],
      [{ records, baseOffset: -1 }, 'base offset -1 is negative'],
      [{ records, lastOffsetDelta: -1 }, 'lastOffsetDelta -1 is negative'],
      [{ records, baseOffset: Number.MAX_SAFE_INTEGER, lastOffsetDelta: 1 }, 'above 2^53-1'],
      [{ records, recordCount: -1 }, 'record count -1 is negative'],
      [{ records, recordCount: 2 }, '2 records in 1 offsets'],
      [{ records, attributes: 6 }, 'unknown compression codec 6'],
    ];
    for (const [input, fault] of faults) {
      const found = headerFault(buildBatch(input), 0);
      if (fault === undefined) expect(found).toBeUndefined();
      else expect(found).toContain(fault);
    }
    const far = buildBatch({ records });
    far.writeBigInt64BE(2n ** 60n, 0);
    expect(headerFault(far, 0)).toContain('above 2^53-1');
  });
});
