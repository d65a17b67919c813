import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { crc32c } from '../../../../protocol/records/crc32c.ts';
import { patchCrc32c, patchCrc32c8 } from '../../../../protocol/records/patch-crc32c.ts';
import { isCrcValid } from '../../../../protocol/records/records.ts';
import { pseudoRandomBytes } from './random-bytes.ts';

describe('full CRC-32C', () => {
  test('the check value of the polynomial comes out unsigned', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  });

  test('a checksum goes on over chunks', () => {
    const bytes = pseudoRandomBytes(10_000, 1);
    for (const cut of [0, 1, 15, 16, 4999, 10_000]) {
      expect(crc32c(bytes, cut, bytes.length, crc32c(bytes, 0, cut))).toBe(crc32c(bytes));
    }
  });
});

describe('patched CRC-32C', () => {
  test('any run changed anywhere in a text gives what a full recomputation gives', () => {
    const edit = fc.record({
      seed: fc.integer(),
      before: fc.nat(5000),
      run: fc.uint8Array({ minLength: 0, maxLength: 40 }),
      behind: fc.oneof(fc.nat(300), fc.nat(200_000)),
    });
    fc.assert(
      fc.property(edit, ({ seed, before, run, behind }) => {
        const text = pseudoRandomBytes(before + run.length + behind, seed);
        const crc = crc32c(text);
        const old = Buffer.from(text.subarray(before, before + run.length));
        text.set(run, before);
        expect(patchCrc32c(crc, old, run, behind)).toBe(crc32c(text));
      }),
      { numRuns: 400 },
    );
  });

  test('each distance bit up to 16 MiB moves right', () => {
    const text = Buffer.alloc(8 + (1 << 24), 0x5a);
    const after = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
    for (let bit = 0; bit <= 24; bit += 3) {
      const behind = 2 ** bit;
      const view = text.subarray(0, 8 + behind);
      const crc = crc32c(view);
      const old = Buffer.from(view.subarray(0, 8));
      after.copy(view);
      expect(patchCrc32c(crc, old, after, behind)).toBe(crc32c(view));
      old.copy(view);
    }
  });

  test('distances that no buffer here reaches agree with moving in two steps', () => {
    // Moving 2^31 - 1 bytes must equal moving 2^30 and then 2^30 - 1: a raw checksum is a run of 4 bytes.
    const zero = new Uint8Array(4);
    const one = Uint8Array.from([0, 0, 0, 1]);
    const far = patchCrc32c(0, zero, one, 2 ** 31 - 1);
    const half = patchCrc32c(0, zero, one, 2 ** 30);
    const image = Uint8Array.from([half & 0xff, (half >>> 8) & 0xff, (half >>> 16) & 0xff, half >>> 24]);
    // `image` as text yields its raw checksum moved 4 bytes, hence the 4 taken off the distance.
    expect(patchCrc32c(0, zero, image, 2 ** 30 - 1 - 4)).toBe(far);
  });

  test('the 8-byte form equals the general one', () => {
    const eight = fc.uint8Array({ minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(eight, eight, fc.nat(2 ** 31 - 1), fc.nat(2 ** 32 - 1), (before, after, behind, crc) => {
        const b = Buffer.from(before);
        const a = Buffer.from(after);
        const hi = b.readInt32BE(0) ^ a.readInt32BE(0);
        const lo = b.readInt32BE(4) ^ a.readInt32BE(4);
        expect(patchCrc32c8(crc, hi, lo, behind)).toBe(patchCrc32c(crc, before, after, behind));
      }),
    );
  });

  test('two separate edits add up', () => {
    const text = pseudoRandomBytes(3000, 7);
    let crc = crc32c(text);
    for (const [at, bytes] of [
      [100, [9, 9]],
      [2000, [1, 2, 3]],
    ] as const) {
      const after = Uint8Array.from(bytes);
      crc = patchCrc32c(
        crc,
        Buffer.from(text.subarray(at, at + after.length)),
        after,
        3000 - at - after.length,
      );
      text.set(after, at);
    }
    expect(crc).toBe(crc32c(text));
  });

  test('damage from before the patch still shows after it', () => {
    const batch = buildBatch({ records: [{ value: 'x'.repeat(500) }], producerId: 5n });
    batch[300] = (batch[300] as number) ^ 0x40;
    const after = Buffer.from('fffffffffffffff9', 'hex');
    const patched = patchCrc32c(batch.readUInt32BE(17), batch.subarray(43, 51), after, batch.length - 51);
    after.copy(batch, 43);
    batch.writeUInt32BE(patched, 17);
    expect(isCrcValid(batch, 0)).toBe(false);
  });

  test('a run that changes its length and a distance out of range are refused', () => {
    expect(() => patchCrc32c(0, new Uint8Array(3), new Uint8Array(4), 0)).toThrow('3 became 4 bytes');
    for (const distance of [-1, 2 ** 31, 1.5, Number.NaN]) {
      expect(() => patchCrc32c(0, new Uint8Array(1), new Uint8Array(1), distance)).toThrow(RangeError);
    }
  });
});
