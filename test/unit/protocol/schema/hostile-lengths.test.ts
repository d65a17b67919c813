import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reader } from '../../../../protocol/primitives/reader.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';
import { everyVariant, messageArbitrary, type Variant } from './arbitrary.ts';

type LengthKind = 'int16' | 'int32' | 'varint';

/** Notes where a message holds lengths and counts while it is read. */
class LengthSpy extends Reader {
  readonly places: { at: number; end: number; kind: LengthKind }[] = [];

  #note(kind: LengthKind, size: number): void {
    this.places.push({ at: this.position, end: this.position + size, kind });
  }
  override uvarint(): number {
    const at = this.position;
    const value = super.uvarint();
    this.places.push({ at, end: this.position, kind: 'varint' });
    return value;
  }
  override string(): string {
    this.#note('int16', 2);
    return super.string();
  }
  override nullableString(): string | null {
    this.#note('int16', 2);
    return super.nullableString();
  }
  override bytes(): Buffer {
    this.#note('int32', 4);
    return super.bytes();
  }
  override nullableBytes(): Buffer | null {
    this.#note('int32', 4);
    return super.nullableBytes();
  }
  override arrayLength(minSize: number, nullable: boolean): number {
    this.#note('int32', 4);
    return super.arrayLength(minSize, nullable);
  }
}

const hostile: Record<LengthKind, { name: string; bytes: Buffer }[]> = {
  int16: [
    { name: '2^15-1', bytes: Buffer.from([0x7f, 0xff]) },
    { name: '-2', bytes: Buffer.from([0xff, 0xfe]) },
    { name: '0xFFFF', bytes: Buffer.from([0xff, 0xff]) },
  ],
  int32: [
    { name: '2^31-1', bytes: Buffer.from([0x7f, 0xff, 0xff, 0xff]) },
    { name: '-2', bytes: Buffer.from([0xff, 0xff, 0xff, 0xfe]) },
    { name: '0xFFFFFFFF', bytes: Buffer.from([0xff, 0xff, 0xff, 0xff]) },
  ],
  varint: [
    { name: '2^31-1', bytes: Buffer.from([0xff, 0xff, 0xff, 0xff, 0x07]) },
    { name: '2^32-2', bytes: Buffer.from([0xfe, 0xff, 0xff, 0xff, 0x0f]) },
    { name: '0xFFFFFFFF', bytes: Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]) },
    { name: 'five bytes and more', bytes: Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x01]) },
  ],
};

function longest(variant: Variant): Buffer {
  const samples = fc.sample(messageArbitrary(variant), { numRuns: 12, seed: 95 });
  let best = Buffer.alloc(0);
  for (const message of samples) {
    const writer = new Writer();
    variant.api[variant.direction].encode(writer, variant.version, message);
    if (writer.length > best.length) best = Buffer.from(writer.bytes());
  }
  return best;
}

describe('hostile lengths', () => {
  // One scratch buffer for all cases, so that any growth of `arrayBuffers` comes from the code under test.
  const scratch = Buffer.alloc(1 << 16);

  test.each(everyVariant())('$title: each length in turn', ({ api, direction, version, title }) => {
    const message = longest({ api, direction, version, title });
    const spy = new LengthSpy(message);
    api[direction].decode(spy, version);
    expect(spy.ok).toBe(true);

    const before = process.memoryUsage().arrayBuffers;
    let cases = 0;
    for (const { at, end, kind } of spy.places) {
      for (const { name, bytes } of hostile[kind]) {
        message.copy(scratch, 0, 0, at);
        bytes.copy(scratch, at);
        message.copy(scratch, at + bytes.length, end);
        const size = message.length - (end - at) + bytes.length;
        const reader = new Reader(scratch, 0, size);
        const value: unknown = api[direction].decode(reader, version);
        // Two kinds of place take such a value: a tag's number, and a length whose type has null (all bits set).
        // Then what was read is a whole message of its own and encodes to the very same bytes.
        if (reader.ok && reader.remaining === 0) {
          const writer = new Writer();
          api[direction].encode(writer, version, value);
          assert.ok(writer.bytes().equals(scratch.subarray(0, size)), `${name} at byte ${at} was accepted`);
        }
        cases++;
      }
    }
    const grown = process.memoryUsage().arrayBuffers - before;
    expect(grown).toBeLessThan(1 << 20);
    expect(cases).toBe(spy.places.reduce((sum, { kind }) => sum + hostile[kind].length, 0));
  });
});
