import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameSplitter } from '../../../../protocol/frame/splitter.ts';
import { ProtocolError } from '../../../../protocol/protocol-error.ts';

function framed(body: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

const first = Buffer.from('first frame');
const second = Buffer.from('and the second');
const glued = Buffer.concat([framed(first), framed(second)]);

function feed(chunks: readonly Buffer[], withSize = false): Buffer[] {
  const splitter = new FrameSplitter({ capBytes: 100, withSize });
  const frames: Buffer[] = [];
  for (const chunk of chunks) splitter.push(chunk, (frame) => frames.push(Buffer.from(frame)));
  expect(splitter.pendingBytes).toBe(0);
  return frames;
}

describe('FrameSplitter', () => {
  test('two glued frames split at every pair of positions', () => {
    for (let one = 0; one <= glued.length; one++) {
      for (let two = one; two <= glued.length; two++) {
        const chunks = [glued.subarray(0, one), glued.subarray(one, two), glued.subarray(two)];
        expect(feed(chunks)).toEqual([first, second]);
      }
    }
  });

  test('byte by byte, with the size in front when asked', () => {
    const bytes = [...glued].map((byte) => Buffer.from([byte]));
    expect(feed(bytes)).toEqual([first, second]);
    expect(feed(bytes, true)).toEqual([framed(first), framed(second)]);
    expect(feed([glued], true)).toEqual([framed(first), framed(second)]);
  });

  test('any frames in any chunks', () => {
    const bodies = fc.array(
      fc.uint8Array({ minLength: 4, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(bodies, fc.array(fc.nat(250), { maxLength: 8 }), (frames, cuts) => {
        const stream = Buffer.concat(frames.map(framed));
        const at = [...cuts, 0, stream.length]
          .map((cut) => Math.min(cut, stream.length))
          .toSorted((a, b) => a - b);
        const chunks = at.slice(1).map((end, index) => stream.subarray(at[index], end));
        expect(feed(chunks)).toEqual(frames);
      }),
      { numRuns: 200 },
    );
  });

  test('a frame that lies within one chunk is a view of it', () => {
    const chunk = Buffer.from(glued);
    const frames: Buffer[] = [];
    new FrameSplitter({ capBytes: 100 }).push(chunk, (frame) => frames.push(frame));
    chunk[4] = 0x46;
    expect(frames[0]?.toString()).toBe('First frame');
  });

  test.each([
    ['2^31-1', '7fffffff', 'announces 2147483647 bytes, at most 100 are accepted'],
    ['-2', 'fffffffe', 'announces -2 bytes, at least 4 are accepted'],
    ['0xFFFFFFFF', 'ffffffff', 'announces -1 bytes, at least 4 are accepted'],
    ['one above the cap', '00000065', 'announces 101 bytes, at most 100 are accepted'],
    ['too small for a header', '00000003', 'announces 3 bytes, at least 4 are accepted'],
  ])('a size of %s is refused before anything is allocated, whole or byte by byte', (_name, hex, message) => {
    const size = Buffer.from(hex, 'hex');
    const whole = new FrameSplitter({ capBytes: 100 });
    const before = process.memoryUsage().arrayBuffers;
    expect(() => whole.push(size, () => expect.unreachable())).toThrow(message);
    const slow = new FrameSplitter({ capBytes: 100 });
    expect(() => {
      for (const byte of size) slow.push(Buffer.from([byte]), () => expect.unreachable());
    }).toThrow(ProtocolError);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
    expect(() => whole.push(framed(first), () => expect.unreachable())).toThrow('refused before');
  });

  test('a frame of exactly the cap passes', () => {
    const body = Buffer.alloc(100, 1);
    expect(feed([framed(body)])).toEqual([body]);
  });
});
