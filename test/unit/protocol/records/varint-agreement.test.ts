import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reader } from '../../../../protocol/primitives/reader.ts';
import {
  readUnsignedVarint,
  readUnsignedVarlong,
  readVarint,
  readVarlong,
  unsignedVarintSize,
  varintSize,
  varlongSize,
  writeUnsignedVarint,
  writeVarint,
  writeVarlong,
} from '../../../../protocol/primitives/varint.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';

/** Random bytes rarely have long runs of top bits: these do, and end at every length. */
const groups = fc
  .tuple(fc.array(fc.integer({ min: 0x80, max: 0xff }), { maxLength: 11 }), fc.nat(0x7f))
  .map(([more, last]) => Buffer.from([...more, last]));
const anyBytes = fc.oneof(
  groups,
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
);

type Read<T> = (buf: Buffer, position: { at: number }, end: number) => T;

function agree<T>(bytes: Buffer, own: Read<T>, bad: T, reader: (reader: Reader) => T): void {
  const position = { at: 0 };
  const value = own(bytes, position, bytes.length);
  const other = new Reader(bytes);
  const otherValue = reader(other);
  if (other.ok) {
    expect(value).toBe(otherValue);
    expect(position.at).toBe(other.position);
  } else {
    expect(value).toBe(bad);
    expect(position.at).toBe(0);
  }
}

describe('varints of records and of messages are the same', () => {
  test('every byte string reads to the same value, length or refusal', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        agree(bytes, readUnsignedVarint, -1, (reader) => reader.uvarint());
        agree(bytes, readVarint, Number.NaN, (reader) => reader.varint());
        agree<bigint | undefined>(bytes, readUnsignedVarlong, undefined, (reader) => reader.uvarlong());
        agree<bigint | undefined>(bytes, readVarlong, undefined, (reader) => reader.varlong());
      }),
      { numRuns: 3000 },
    );
  });

  test('every value is written to the same bytes, of the size foretold, and reads back', () => {
    const int32 = fc.oneof(fc.constantFrom(-(2 ** 31), -65, -64, -1, 0, 63, 64, 2 ** 31 - 1), fc.integer());
    const int64 = fc.oneof(
      fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n),
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    );
    fc.assert(
      fc.property(int32, int64, (small, large) => {
        const buf = Buffer.alloc(30);
        const writer = new Writer();
        writer.uvarint(small >>> 0);
        writer.varint(small);
        writer.varlong(large);
        const first = writeUnsignedVarint(buf, 0, small >>> 0);
        const second = writeVarint(buf, first, small);
        const end = writeVarlong(buf, second, large);
        expect(buf.subarray(0, end).equals(writer.bytes())).toBe(true);
        expect([unsignedVarintSize(small >>> 0), varintSize(small), varlongSize(large)]).toEqual([
          first,
          second - first,
          end - second,
        ]);
        const position = { at: 0 };
        expect(readUnsignedVarint(buf, position, end)).toBe(small >>> 0);
        expect(readVarint(buf, position, end)).toBe(small);
        expect(readVarlong(buf, position, end)).toBe(large);
      }),
    );
  });
});
