import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FramePool } from '../../../../src/link/frame-pool.ts';
import { PieceQueue } from '../../../../src/link/piece-queue.ts';
import type { DataPiece, Piece } from '../../../../src/link/pieces.ts';
import { Limiter } from '../../../../src/link/pause.ts';
import { RateLimit } from '../../../../src/link/rate-limit.ts';

const MIB = 1 << 20;

describe('the frame pool', () => {
  test('books the greatest answer first and the real one when it has come', () => {
    const pool = new FramePool(10 * MIB);
    expect(pool.tryReserve(4 * MIB)).toBe(true);
    expect(pool.tryReserve(4 * MIB)).toBe(true);
    expect(pool.tryReserve(4 * MIB)).toBe(false);
    const frame = pool.adopt(pool.allocate(MIB), 4 * MIB);
    const taken = frame.bytes.buffer.byteLength;
    expect(taken).toBeLessThan(1.1 * MIB);
    expect(pool.used).toBe(4 * MIB + taken);
    expect(pool.tryReserve(4 * MIB)).toBe(true);
    frame.release();
    expect(pool.used).toBe(8 * MIB);
    expect(pool.freeBytes).toBe(taken);
  });

  test('gives a buffer out again only after its last holder let go', () => {
    const pool = new FramePool(10 * MIB);
    pool.tryReserve(MIB);
    const frame = pool.adopt(pool.allocate(MIB), MIB);
    frame.hold();
    frame.release();
    expect(pool.freeBytes).toBe(0);
    expect(pool.allocate(MIB).buffer).not.toBe(frame.bytes.buffer);
    frame.release();
    expect(pool.freeBytes).toBeGreaterThan(0);
    expect(pool.allocate(MIB - 5).buffer).toBe(frame.bytes.buffer);
    expect(() => frame.release()).toThrow(/more often than held/);
  });

  test('lets one answer through that is larger than everything, when nothing else is booked', () => {
    const pool = new FramePool(MIB);
    expect(pool.tryReserve(5 * MIB)).toBe(true);
    expect(pool.tryReserve(1)).toBe(false);
  });

  test('reads a smaller answer into a larger buffer that is there, up to an eighth of it', () => {
    const pool = new FramePool(20 * MIB);
    pool.tryReserve(4 * MIB);
    const large = pool.adopt(pool.allocate(4 * MIB), 4 * MIB);
    large.release();
    pool.tryReserve(4 * MIB);
    expect(pool.allocate(100_000).buffer).not.toBe(large.bytes.buffer);
    const small = pool.adopt(pool.allocate(MIB), 4 * MIB);
    expect(small.bytes.buffer).toBe(large.bytes.buffer);
    expect(small.bytes.length).toBe(MIB);
    expect(pool.used).toBe(large.bytes.buffer.byteLength);
    expect(pool.freeBytes).toBe(0);
  });

  test('keeps a buffer for the answer that is asked for already, with all other room booked', () => {
    const pool = new FramePool(10 * MIB);
    pool.tryReserve(4 * MIB);
    const first = pool.adopt(pool.allocate(4 * MIB), 4 * MIB);
    pool.tryReserve(4 * MIB);
    first.release();
    expect(pool.allocate(4 * MIB).buffer).toBe(first.bytes.buffer);
    const second = pool.adopt(pool.allocate(4 * MIB), 4 * MIB);
    pool.tryReserve(4 * MIB);
    second.release();
    expect(pool.freeBytes).toBe(second.bytes.buffer.byteLength);
  });

  test('drops kept buffers before it takes a new one beyond its budget', () => {
    const pool = new FramePool(4 * MIB);
    const kept = [1, 2].map(() => {
      pool.tryReserve(MIB);
      return pool.adopt(pool.allocate(MIB), MIB);
    });
    for (const frame of kept) frame.release();
    expect(pool.freeBytes).toBeGreaterThan(2 * MIB);
    expect(pool.tryReserve(3 * MIB)).toBe(true);
    const frame = pool.adopt(pool.allocate(3 * MIB), 3 * MIB);
    expect(pool.freeBytes).toBe(0);
    expect(pool.used).toBe(frame.bytes.buffer.byteLength);
  });

  test('wakes who waits for room', () => {
    const pool = new FramePool(MIB);
    pool.tryReserve(MIB);
    let woken = 0;
    pool.onRoom(() => {
      woken += 1;
    });
    pool.unreserve(MIB);
    pool.tryReserve(1);
    pool.unreserve(1);
    expect(woken).toBe(1);
  });
});

describe('the piece queue', () => {
  const data = (offset: number, next: number): DataPiece => ({
    kind: 'data',
    offset,
    next,
    epoch: 0,
    bytes: Buffer.alloc(10 * (next - offset)),
    transactional: false,
    frame: null,
  });
  const inert = (offset: number, next: number): Piece => ({ kind: 'inert', offset, next, epoch: 0 });

  test('advancing drops whole pieces and cuts a run', () => {
    const queue = new PieceQueue();
    queue.push([data(0, 2), inert(2, 10), data(10, 11)]);
    queue.advance(5);
    expect(queue.head).toMatchObject({ kind: 'inert', offset: 5, next: 10 });
    expect(queue.bytes).toBe(10);
    queue.advance(11);
    expect(queue.length).toBe(0);
    expect(queue.bytes).toBe(0);
  });

  test('cutting keeps what lies below and may cut a run', () => {
    const queue = new PieceQueue();
    queue.push([data(0, 2), inert(2, 10), data(10, 11)]);
    queue.cutAt(4);
    expect(queue.length).toBe(2);
    expect(queue.at(1)).toMatchObject({ offset: 2, next: 4 });
    expect(queue.bytes).toBe(20);
  });

  test('any sequence of pushes and advances keeps order, density and the byte count', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(6), fc.nat(8)), { maxLength: 200 }), (steps) => {
        const queue = new PieceQueue();
        let end = 0;
        let begin = 0;
        for (const [size, advance] of steps) {
          if (size > 0) queue.push([size % 2 === 0 ? inert(end, end + size) : data(end, end + 1)]);
          if (size > 0) end += size % 2 === 0 ? size : 1;
          begin = Math.min(end, begin + advance);
          queue.advance(begin);
          let at = begin;
          let bytes = 0;
          for (let i = 0; i < queue.length; i += 1) {
            const piece = queue.at(i) as Piece;
            expect(piece.offset).toBe(at);
            at = piece.next;
            if (piece.kind === 'data') bytes += piece.bytes.length;
          }
          expect(at).toBe(end);
          expect(queue.bytes).toBe(bytes);
        }
      }),
    );
  });
});

test('the rate limit makes the next one wait for the bytes taken', () => {
  const rate = new RateLimit(1000);
  expect(rate.nextAt(50)).toBe(50);
  rate.took(500, 50);
  expect(rate.nextAt(60)).toBe(550);
  rate.took(500, 60);
  expect(rate.nextAt(60)).toBe(1050);
  const free = new RateLimit(null);
  free.took(1e12, 10);
  expect(free.nextAt(10)).toBe(10);
});

test('the limiter runs as many as it may, and the rest in order', async () => {
  const limiter = new Limiter(2);
  const order: string[] = [];
  const gates = new Map<string, () => void>();
  const task = (name: string) =>
    limiter.run(async () => {
      order.push(name);
      await new Promise<void>((resolve) => gates.set(name, resolve));
    });
  const all = Promise.all([task('a'), task('b'), task('c')]);
  await Promise.resolve();
  expect(order).toEqual(['a', 'b']);
  gates.get('a')?.();
  await expect.poll(() => order).toEqual(['a', 'b', 'c']);
  gates.get('b')?.();
  gates.get('c')?.();
  await all;
});
