import { describe, expect, test } from 'vitest';
import { Reader, ZERO_UUID } from '../../../../protocol/primitives/reader.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';

describe('Reader', () => {
  test('goes bad once, keeps the first reason and returns zero values from then on', () => {
    const reader = new Reader(Buffer.from([0, 1, 2]));
    expect(reader.int16()).toBe(1);
    expect(reader.int32()).toBe(0);
    expect(reader.badReason).toBe('needs 4 bytes, 1 left');
    expect(reader.badAt).toBe(2);
    expect([reader.int8(), reader.int64(), reader.offset64(), reader.string(), reader.uuid()]).toEqual([
      0,
      0n,
      0,
      '',
      ZERO_UUID,
    ]);
    expect(reader.nullableBytes()?.length).toBe(0);
    expect(reader.badAt).toBe(2);
  });

  test('byte fields are views of the input', () => {
    const input = Buffer.from('00000003616263', 'hex');
    const view = new Reader(input).bytes();
    input[4] = 0x7a;
    expect(view.toString()).toBe('zbc');
  });

  test('offsets are exact up to 2^53 - 1 on both sides and bad beyond', () => {
    const at = (value: bigint): Reader => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(value);
      return new Reader(bytes);
    };
    for (const value of [
      0,
      -1,
      1,
      2 ** 32,
      -(2 ** 32) - 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]) {
      expect(at(BigInt(value)).offset64()).toBe(value);
    }
    for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]) {
      const reader = at(value);
      expect(reader.offset64()).toBe(0);
      expect(reader.badReason).toContain(String(value));
    }
  });

  test.each([
    ['string', 'ffff', 'null where none is allowed'],
    ['nullableString', 'fffe', 'length -2 is negative'],
    ['string', '7fff61', 'needs 32767 bytes, 1 left'],
    ['bytes', '7fffffff61', 'needs 2147483647 bytes, 1 left'],
    ['nullableBytes', 'fffffffe', 'length -2 is negative'],
    ['compactString', '00', 'null where none is allowed'],
    ['compactNullableString', 'ffffffff0f', 'needs 4294967294 bytes, 0 left'],
    ['compactBytes', 'ffffffff0761', 'needs 2147483646 bytes, 1 left'],
  ] as const)('%s of %s is bad', (kind, hex, reason) => {
    const reader = new Reader(Buffer.from(hex, 'hex'));
    reader[kind]();
    expect(reader.badReason).toBe(reason);
  });

  test('an array count is judged by the least size of its elements', () => {
    const reader = new Reader(Buffer.from('00000003000000', 'hex'));
    expect(reader.arrayLength(2, false)).toBe(0);
    expect(reader.badReason).toBe('array of 3 elements cannot fit into the 3 bytes left');
  });

  test('null is told apart from empty', () => {
    expect(new Reader(Buffer.from('ffffffff', 'hex')).arrayLength(1, true)).toBe(-1);
    expect(new Reader(Buffer.from('00', 'hex')).compactArrayLength(1, true)).toBe(-1);
    expect(new Reader(Buffer.from('ffff', 'hex')).nullableString()).toBeNull();
    expect(new Reader(Buffer.from('01', 'hex')).compactNullableBytes()).toEqual(Buffer.alloc(0));
  });

  test('a range outside of the bytes is refused', () => {
    expect(() => new Reader(Buffer.alloc(3), 4)).toThrow(RangeError);
    expect(() => new Reader(Buffer.alloc(3), 0, 4)).toThrow(RangeError);
  });

  test('tagged fields are stepped over, and a section that is cut is bad', () => {
    // two fields: tag 0 of 3 bytes, tag 5 of none; then a byte that is not theirs
    const bytes = Buffer.from([2, 0, 3, 7, 7, 7, 5, 0, 42]);
    const reader = new Reader(bytes);
    reader.skipTags();
    expect([reader.ok, reader.position, reader.int8()]).toEqual([true, 8, 42]);
    for (let end = 0; end < 8; end += 1) {
      const cut = new Reader(bytes.subarray(0, end));
      cut.skipTags();
      expect(cut.ok).toBe(false);
    }
  });

  test('any Uint8Array is read, at its own offset', () => {
    const whole = Uint8Array.from([9, 9, 0, 5]);
    expect(new Reader(whole.subarray(2)).int16()).toBe(5);
  });
});

describe('Writer', () => {
  test('grows and keeps what was written', () => {
    const writer = new Writer({ capacity: 16 });
    for (let value = 0; value < 1000; value++) writer.int32(value);
    const reader = new Reader(writer.bytes());
    for (let value = 0; value < 1000; value++) expect(reader.int32()).toBe(value);
    writer.reset();
    expect(writer.length).toBe(0);
  });

  test('offsets are written as int64', () => {
    for (const value of [0, -1, 2 ** 40 + 5, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      const writer = new Writer();
      writer.offset64(value);
      expect(writer.bytes().readBigInt64BE()).toBe(BigInt(value));
    }
  });

  test('large byte fields are handed out as given, not copied', () => {
    const records = Buffer.alloc(5000, 7);
    const writer = new Writer({ keepFrom: 1024 });
    const mark = writer.beginSize32();
    writer.int16(1);
    writer.bytesField(records);
    writer.bytesField(Buffer.from('small'));
    writer.fillSize32(mark);
    const chunks = writer.chunks();
    expect(chunks.some((chunk) => chunk === records)).toBe(true);
    expect(Buffer.concat(chunks)).toEqual(writer.bytes());
    expect(writer.bytes().readInt32BE()).toBe(writer.length - 4);
  });

  test.each([0, 1, 126, 127, 128, 129, 16383, 16384, 70000])('a sized part of %d bytes', (size) => {
    for (const keepFrom of [64, Number.POSITIVE_INFINITY]) {
      const writer = new Writer({ keepFrom });
      writer.int8(1);
      writer.sized(() => {
        for (let left = size; left > 0; left -= 100)
          writer.raw(Buffer.alloc(Math.min(left, 100), left & 0xff));
      });
      writer.int8(2);
      const reader = new Reader(writer.bytes());
      expect(reader.int8()).toBe(1);
      const body = reader.raw(reader.uvarint());
      expect(body.length).toBe(size);
      if (size > 0) expect(body[0]).toBe(size & 0xff);
      expect(reader.int8()).toBe(2);
      expect(reader.remaining).toBe(0);
    }
  });

  test.each([
    ['int8', 128],
    ['int16', -32769],
    ['int32', 2 ** 31],
    ['int32', 0.5],
    ['uint16', -1],
    ['uint32', 2 ** 32],
    ['offset64', 2 ** 53],
  ] as const)('%s cannot hold %d', (kind, value) => {
    const writer = new Writer();
    writer[kind](value);
    expect(writer.badReason).toContain(String(value));
  });

  test('a string above 32767 bytes and a uuid of the wrong length are bad', () => {
    const long = new Writer();
    long.string('x'.repeat(32768));
    expect(long.ok).toBe(false);
    const uuid = new Writer();
    uuid.uuid('short');
    expect(uuid.ok).toBe(false);
  });
});
