import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reader } from '../../../../protocol/primitives/reader.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';

function written(write: (writer: Writer) => void): Buffer {
  const writer = new Writer();
  write(writer);
  expect(writer.badReason).toBeUndefined();
  return writer.bytes();
}

describe('varints', () => {
  test.each([
    [0, '00'],
    [-1, '01'],
    [1, '02'],
    [63, '7e'],
    [-64, '7f'],
    [64, '8001'],
    [2147483647, 'feffffff0f'],
    [-2147483648, 'ffffffff0f'],
  ])('zigzag int32 %d is %s', (value, hex) => {
    expect(written((w) => w.varint(value)).toString('hex')).toBe(hex);
    expect(new Reader(Buffer.from(hex, 'hex')).varint()).toBe(value);
  });

  test.each([
    [0n, '00'],
    [-1n, '01'],
    [2n ** 62n, '80808080808080808001'],
    [2n ** 63n - 1n, 'feffffffffffffffff01'],
    [-(2n ** 63n), 'ffffffffffffffffff01'],
  ])('zigzag int64 %d is %s', (value, hex) => {
    expect(written((w) => w.varlong(value)).toString('hex')).toBe(hex);
    expect(new Reader(Buffer.from(hex, 'hex')).varlong()).toBe(value);
  });

  test.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [2147483647, 'ffffffff07'],
    [2147483648, '8080808008'],
    [4294967295, 'ffffffff0f'],
  ])('unsigned %d is %s', (value, hex) => {
    expect(written((w) => w.uvarint(value)).toString('hex')).toBe(hex);
    expect(new Reader(Buffer.from(hex, 'hex')).uvarint()).toBe(value);
  });

  test('every value comes back', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(
        fc.integer(),
        fc.nat(),
        int64,
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (i, u, l, ul) => {
          const reader = new Reader(
            written((w) => {
              w.varint(i);
              w.uvarint(u);
              w.varlong(l);
              w.uvarlong(ul);
            }),
          );
          expect([reader.varint(), reader.uvarint(), reader.varlong(), reader.uvarlong()]).toEqual([
            i,
            u,
            l,
            ul,
          ]);
          expect(reader.ok && reader.remaining === 0).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ['a sixth byte', 'ffffffffff01'],
    ['a value of 33 bits', 'ffffffff1f'],
    ['more than ten bytes', 'ffffffffffffffffffffff01'],
  ])('32 bits: %s is bad', (_name, hex) => {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    reader.uvarint();
    expect(reader.badReason).toBe('varint does not fit 32 bits');
    expect(reader.badAt).toBe(0);
  });

  test.each([
    ['an eleventh byte', 'ffffffffffffffffffff01'],
    ['a value of 65 bits', 'ffffffffffffffffff03'],
  ])('64 bits: %s is bad', (_name, hex) => {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    reader.uvarlong();
    expect(reader.badReason).toBe('varint does not fit 64 bits');
  });

  test('a varint cut short is bad', () => {
    for (const read of ['uvarint', 'varint', 'uvarlong', 'varlong'] as const) {
      const reader = new Reader(Buffer.from('ffff', 'hex'));
      reader[read]();
      expect(reader.ok).toBe(false);
    }
  });

  test('a longer than needed encoding of a small value is read', () => {
    expect(new Reader(Buffer.from('8000', 'hex')).uvarint()).toBe(0);
  });

  test.each([
    ['varint', 2 ** 31],
    ['varint', 1.5],
    ['uvarint', -1],
    ['uvarint', 2 ** 32],
  ] as const)('writing %s of %d is bad', (kind, value) => {
    const writer = new Writer();
    writer[kind](value);
    expect(writer.ok).toBe(false);
  });
});
