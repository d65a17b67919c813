import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reader } from '../../../../protocol/primitives/reader.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';
import { ProtocolError } from '../../../../protocol/protocol-error.ts';
import { everyVariant, expectedOf, type Message, messageArbitrary, type Variant } from './arbitrary.ts';

function encode({ api, direction, version }: Variant, value: unknown): Buffer {
  const writer = new Writer();
  api[direction].encode(writer, version, value);
  return writer.bytes();
}

function decode(
  { api, direction, version }: Variant,
  bytes: Uint8Array,
  end = bytes.length,
): Reader & { value?: unknown } {
  const reader: Reader & { value?: unknown } = new Reader(bytes, 0, end);
  reader.value = api[direction].decode(reader, version);
  return reader;
}

describe('every message of every version', () => {
  test.each(everyVariant())(
    '$title comes back as it was sent, absent fields with their defaults',
    (variant) => {
      const { api, direction, version } = variant;
      fc.assert(
        fc.property(messageArbitrary(variant), (message) => {
          const bytes = encode(variant, message);
          const reader = decode(variant, bytes);
          assert.equal(reader.badReason, undefined);
          assert.equal(reader.remaining, 0);
          assert.deepStrictEqual(reader.value, expectedOf(api[direction].fields, version, message));
          assert.ok(
            encode(variant, reader.value).equals(bytes),
            'the decoded message encodes to the same bytes',
          );
        }),
        { numRuns: 40, seed: 1279 },
      );
    },
  );

  test.each(everyVariant())(
    '$title cut anywhere is bad with a reason, a place and no exception',
    (variant) => {
      fc.assert(
        fc.property(messageArbitrary(variant), (message) => {
          const bytes = encode(variant, message);
          for (let end = 0; end < bytes.length; end++) {
            const reader = decode(variant, bytes, end);
            assert.equal(reader.ok, false, `cut at ${end} of ${bytes.length}`);
            assert.ok(reader.badAt >= 0 && reader.badAt <= end);
            assert.ok(reader.badPath !== '');
          }
        }),
        { numRuns: 3, seed: 1279 },
      );
    },
  );

  test.each(everyVariant())('$title keeps unknown tags in every struct', (variant) => {
    if (variant.version < variant.api.flexibleFrom) {
      // Nothing to keep: the version has no tag section. A message with unknown tags is encoded without them.
      const [message] = fc.sample(messageArbitrary(variant), { numRuns: 1, seed: 7 });
      const bytes = Buffer.from(encode(variant, message));
      const withTags = { ...message, unknownTags: [{ tag: 5000, bytes: Buffer.from('x') }] };
      expect(encode(variant, withTags).equals(bytes)).toBe(true);
      return;
    }
    for (const message of fc.sample(messageArbitrary(variant), { numRuns: 5, seed: 7 }) as Message[]) {
      const withTags = { ...message, unknownTags: [{ tag: 5000, bytes: Buffer.from('kept') }] };
      const first = Buffer.from(encode(variant, withTags));
      const { value } = decode(variant, first);
      expect((value as Message)['unknownTags']).toEqual(withTags.unknownTags);
      expect(encode(variant, value).equals(first)).toBe(true);
    }
  });

  test.each(everyVariant())('$title made of random bytes never throws', (variant) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const reader = decode(variant, bytes);
        assert.ok(reader.ok || reader.badReason !== undefined);
      }),
      { numRuns: 30, seed: 1279 },
    );
  });

  test('a version below or above the range is refused by name', () => {
    for (const { api, direction } of everyVariant()) {
      for (const version of [api.min - 1, api.max + 1, 0.5]) {
        expect(() => api[direction].decode(new Reader(Buffer.alloc(0)), version)).toThrow(ProtocolError);
        expect(() => api[direction].encode(new Writer(), version, {})).toThrow(api.name);
      }
    }
  });
});
