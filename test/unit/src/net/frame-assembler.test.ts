import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameAssembler, type FrameFault, recogniseFirstBytes } from '../../../../src/net/frame-assembler.ts';

function framed(...bodies: Uint8Array[]): Buffer {
  return Buffer.concat(
    bodies.flatMap((body) => {
      const size = Buffer.alloc(4);
      size.writeInt32BE(body.length);
      return [size, body];
    }),
  );
}

interface Seen {
  frames: Buffer[];
  faults: FrameFault[];
  sizes: number[];
}

function assembler(cap = 1 << 20, allocate = true): { it: FrameAssembler; seen: Seen } {
  const seen: Seen = { frames: [], faults: [], sizes: [] };
  const it = new FrameAssembler({
    cap,
    smallest: 4,
    onFrame: (frame) => seen.frames.push(frame),
    onFault: (fault) => seen.faults.push(fault),
    ...(allocate
      ? {
          allocate: (size: number) => {
            seen.sizes.push(size);
            return Buffer.allocUnsafe(size);
          },
        }
      : {}),
  });
  return { it, seen };
}

/** Feeds bytes the way a socket with `onread` does: as much as the target takes. */
function readInto(it: FrameAssembler, bytes: Buffer): void {
  let at = 0;
  while (at < bytes.length) {
    const target = it.target();
    const part = Math.min(target.length, bytes.length - at);
    bytes.copy(target, 0, at, at + part);
    it.filled(part);
    at += part;
  }
}

const bodies = [Buffer.from('first frame'), Buffer.from('2222'), Buffer.alloc(300, 7), Buffer.from('last')];
const stream = framed(...bodies);

describe('frames out of a stream', () => {
  test('every split in two gives the same frames, read into our buffers', () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const { it, seen } = assembler();
      readInto(it, stream.subarray(0, cut));
      readInto(it, stream.subarray(cut));
      expect(seen.frames).toEqual(bodies);
      expect(it.atFrameEdge).toBe(true);
    }
  });

  test('every split in two gives the same frames, given as chunks', () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const { it, seen } = assembler(1 << 20, false);
      it.push(Buffer.from(stream.subarray(0, cut)));
      it.push(Buffer.from(stream.subarray(cut)));
      expect(seen.frames).toEqual(bodies);
      expect(it.atFrameEdge).toBe(true);
    }
  });

  test.each([true, false])(
    'two glued frames split at every pair of positions, into our buffers: %s',
    (into) => {
      const two = [Buffer.from('first frame'), Buffer.from('and the second')];
      const glued = framed(...two);
      for (let one = 0; one <= glued.length; one += 1) {
        for (let other = one; other <= glued.length; other += 1) {
          const { it, seen } = assembler(100, into);
          for (const piece of [glued.subarray(0, one), glued.subarray(one, other), glued.subarray(other)]) {
            if (into) readInto(it, piece);
            else it.push(Buffer.from(piece));
          }
          expect(seen.frames).toEqual(two);
          expect(it.bytesBuffered).toBe(0);
        }
      }
    },
  );

  test.each([true, false])('byte by byte gives the same frames, into our buffers: %s', (into) => {
    const { it, seen } = assembler(1 << 20, into);
    for (const byte of stream) {
      if (into) readInto(it, Buffer.from([byte]));
      else it.push(Buffer.from([byte]));
    }
    expect(seen.frames).toEqual(bodies);
    expect(it.bytesBuffered).toBe(0);
    expect(it.atFrameEdge).toBe(true);
  });

  test('a frame that lies within one chunk is a view of it', () => {
    const { it, seen } = assembler(100, false);
    const chunk = framed(Buffer.from('first frame'), Buffer.from('second'));
    it.push(chunk);
    chunk[4] = 0x46;
    expect(seen.frames.map(String)).toEqual(['First frame', 'second']);
  });

  test('a frame of exactly the cap passes', () => {
    const { it, seen } = assembler(100);
    readInto(it, framed(Buffer.alloc(100, 1)));
    expect(seen.frames).toEqual([Buffer.alloc(100, 1)]);
    expect(seen.faults).toEqual([]);
  });

  test('any cutting into pieces gives the same frames', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 4, maxLength: 90_000 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (parts, cuts, chunks) => {
          const bytes = framed(...parts);
          const { it, seen } = assembler(1 << 20, !chunks);
          let at = 0;
          for (let i = 0; at < bytes.length; i += 1) {
            const piece = bytes.subarray(at, at + (cuts[i % cuts.length] as number));
            if (chunks) it.push(Buffer.from(piece));
            else readInto(it, piece);
            at += piece.length;
          }
          expect(seen.frames.map((frame) => frame.length)).toEqual(parts.map((part) => part.length));
          for (const [index, part] of parts.entries()) {
            expect(Buffer.compare(part, seen.frames[index] as Buffer)).toBe(0);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a frame larger than the scratch is read straight into its own buffer', () => {
    const { it, seen } = assembler();
    const body = Buffer.alloc(500_000, 1);
    const bytes = framed(body);
    const first = it.target();
    bytes.copy(first, 0, 0, 100);
    it.filled(100);
    const own = it.target();
    expect(own.length).toBe(500_000 - 96);
    bytes.copy(own, 0, 100);
    it.filled(own.length);
    expect(seen.frames).toHaveLength(1);
    expect(seen.frames[0]?.buffer).toBe(own.buffer);
    expect(seen.sizes).toEqual([500_000]);
  });

  test('frames given out are never views of the shared scratch', () => {
    const a = assembler();
    const b = assembler();
    readInto(a.it, framed(Buffer.from('aaaa')));
    readInto(b.it, framed(Buffer.from('bbbb')));
    expect(a.seen.frames[0]?.toString()).toBe('aaaa');
  });

  test('while paused nothing is delivered, and all of it in order afterwards', () => {
    for (const chunks of [true, false]) {
      const got: string[] = [];
      const it = new FrameAssembler({
        cap: 100,
        smallest: 4,
        onFrame: (frame) => {
          got.push(frame.toString());
          it.pause();
        },
        onFault: () => undefined,
      });
      const bytes = framed(Buffer.from('one1'), Buffer.from('two2'), Buffer.from('three3'));
      if (chunks) it.push(bytes);
      else readInto(it, bytes);
      expect(got).toEqual(['one1']);
      expect(it.bytesBuffered).toBe(18);
      it.resume();
      expect(got).toEqual(['one1', 'two2']);
      it.resume();
      expect(got).toEqual(['one1', 'two2', 'three3']);
    }
  });
});

describe('sizes that are none', () => {
  test.each([
    ['oversize-frame', 0x00100001, /1048577 bytes.*cap is 1048576/],
    ['oversize-frame', 0x7fffffff, /2147483647/],
    ['bad-frame', -2, /-2/],
    ['bad-frame', -1, /-1/],
    ['bad-frame', 3, /smallest is 4/],
    ['tls-bytes', 369296129, /TLS record \(handshake\)/],
    ['tls-bytes', 352518912, /TLS record \(alert\)/],
    ['http-bytes', Buffer.from('GET ').readInt32BE(), /HTTP \("GET"\)/],
    ['http-bytes', Buffer.from('HTTP').readInt32BE(), /HTTP/],
  ])('%s for %d: nothing is allocated, nothing more is read, whole or byte by byte', (kind, size, text) => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(size);
    const bytes = Buffer.concat([head, framed(Buffer.from('late'))]);
    const bytewise = [...bytes].map((byte) => Buffer.from([byte]));
    for (const into of [true, false]) {
      for (const pieces of [[bytes], bytewise]) {
        const { it, seen } = assembler(1 << 20, into);
        const before = process.memoryUsage().arrayBuffers;
        for (const piece of pieces) {
          if (into) readInto(it, piece);
          else it.push(piece);
        }
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
        expect(seen.faults.map((fault) => fault.kind)).toEqual([kind]);
        expect(seen.faults[0]?.detail).toMatch(text);
        expect(seen.sizes).toEqual([]);
        expect(seen.frames).toEqual([]);
        expect(it.bytesBuffered).toBe(0);
      }
    }
  });

  test('TLS is recognised even under a cap that would let the number pass', () => {
    const { it, seen } = assembler(0x7fffffff);
    readInto(it, Buffer.from('160301020001', 'hex'));
    expect(seen.faults[0]?.kind).toBe('tls-bytes');
    expect(seen.sizes).toEqual([]);
  });

  test('an ordinary size is not taken for something else', () => {
    expect(recogniseFirstBytes(1000)).toBeNull();
    expect(recogniseFirstBytes(100 * 1024 * 1024)).toBeNull();
  });
});

test('a frame for which there is no memory ends its connection, not the process', () => {
  const faults: FrameFault[] = [];
  const it = new FrameAssembler({
    cap: 1 << 30,
    smallest: 4,
    onFrame: () => undefined,
    onFault: (fault) => faults.push(fault),
    allocate: () => {
      throw new RangeError('Array buffer allocation failed');
    },
  });
  it.push(Buffer.from([0x10, 0, 0, 0, 1]));
  it.push(Buffer.from([2]));
  expect(faults).toMatchObject([
    { kind: 'oversize-frame', detail: expect.stringContaining('268435456') as string },
  ]);
});
