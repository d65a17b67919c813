import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildMarkerBatch, buildMirrorPidResetBatch } from '../../../../protocol/records/barrier.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { crc32c } from '../../../../protocol/records/crc32c.ts';
import { barrierId, fillerId } from '../../../../protocol/records/ids.ts';
import { FramePool } from '../../../../src/link/frame-pool.ts';
import type { Piece } from '../../../../src/link/pieces.ts';
import { type AbortedTransaction, transform } from '../../../../src/link/transform.ts';
import { type Fate, ModelLog, type Step } from './model-log.ts';

const ref = { topic: 'orders', partition: 3 };
const ID_AT = 43;

function run(records: Buffer, next = 0, aborted: AbortedTransaction[] = []) {
  return transform(ref, { records, aborted, next, frame: null });
}

function data(base: number, records: number, more: Parameters<typeof buildBatch>[0] | object = {}): Buffer {
  return buildBatch({
    records: Array.from({ length: records }, (_, i) => ({ value: `${base + i}`, timestamp: 1n })),
    baseOffset: base,
    partitionLeaderEpoch: 4,
    ...more,
  });
}

function marker(
  base: number,
  type: 'ABORT' | 'COMMIT',
  producerId: bigint,
  epochs: [number, number] = [2, 9],
) {
  return buildMarkerBatch({
    type,
    producerId,
    producerEpoch: epochs[0],
    coordinatorEpoch: epochs[1],
    timestamp: 1n,
    baseOffset: base,
    partitionLeaderEpoch: 4,
  });
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('plain' as const), records: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('idempotent' as const),
      id: fc.nat(2),
      records: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('txn' as const),
      id: fc.nat(4),
      records: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('end' as const), id: fc.nat(4), commit: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'unknown-control' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'leader-change' as const }) },
);

/** What the pieces say about each offset, data reduced to its batch. */
function spell(pieces: readonly Piece[]): Map<number, Piece> {
  const at = new Map<number, Piece>();
  for (const piece of pieces)
    for (let offset = piece.offset; offset < piece.next; offset += 1) at.set(offset, piece);
  return at;
}

function agrees(piece: Piece | undefined, fate: Fate): void {
  switch (fate.kind) {
    case 'inert':
      expect(piece?.kind).toBe('inert');
      break;
    case 'commit':
      expect(piece).toMatchObject({
        kind: 'commit',
        producerId: -(fate.producerId + 2n),
        producerEpoch: fate.epoch,
        coordinatorEpoch: fate.coordinator,
      });
      break;
    case 'data': {
      if (piece?.kind !== 'data') throw new Error(`${piece?.kind} where data belongs`);
      const mapped = fate.producerId < 0n ? fate.producerId : -(fate.producerId + 2n);
      expect(piece.offset).toBe(fate.base);
      expect(piece.bytes.readBigInt64BE(ID_AT)).toBe(mapped);
      expect(piece.bytes.readBigInt64BE(0)).toBe(0n);
      expect(piece.bytes.readUInt32BE(17)).toBe(crc32c(piece.bytes, 21));
      const restored = Buffer.from(piece.bytes);
      fate.bytes.copy(restored, 0, 0, 8);
      fate.bytes.copy(restored, 17, 17, 21);
      fate.bytes.copy(restored, ID_AT, ID_AT, ID_AT + 8);
      expect(restored.equals(fate.bytes)).toBe(true);
      break;
    }
    default:
      fate satisfies never;
  }
}

describe('any interleaving of transactions', () => {
  test('becomes the committed data at its own offsets and something inert at every other', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (steps, width) => {
        const log = new ModelLog();
        for (const one of steps) log.apply(one);
        const pieces: Piece[] = [];
        let next = 0;
        while (next < log.lastStableOffset) {
          const answer = log.fetch(next, width);
          const done = transform(ref, { ...answer, next, frame: null });
          expect(done.failure).toBeNull();
          expect(done.next).toBeGreaterThan(next);
          pieces.push(...done.pieces);
          next = done.next;
        }
        let expected = 0;
        for (const piece of pieces) {
          expect(piece.offset).toBe(expected);
          expected = piece.next;
        }
        expect(expected).toBe(log.lastStableOffset);
        const at = spell(pieces);
        for (const [offset, fate] of log.fates()) agrees(at.get(offset), fate);
      }),
      { numRuns: 400 },
    );
  });

  test('resumes at any offset that the destination can end at, and needs nothing from before', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), fc.nat(), (steps, pick) => {
        const log = new ModelLog();
        for (const one of steps) log.apply(one);
        const stable = log.lastStableOffset;
        fc.pre(stable > 0);
        const fates = log.fates();
        let from = pick % stable;
        // inside a data batch a destination never ends
        for (let fate = fates.get(from); fate?.kind === 'data' && fate.base !== from; fate = fates.get(from))
          from -= 1;
        const done = transform(ref, { ...log.fetch(from, 1000), next: from, frame: null });
        expect(done.failure).toBeNull();
        expect(done.next).toBe(stable);
        expect(done.pieces[0]?.offset).toBe(from);
        const at = spell(done.pieces);
        for (const [offset, fate] of log.fates(from)) agrees(at.get(offset), fate);
      }),
      { numRuns: 400 },
    );
  });
});

describe('what ends a partition', () => {
  test('a batch cut off at the end of an answer is left for the next one', () => {
    const whole = data(0, 2);
    const done = run(Buffer.concat([whole, data(2, 2).subarray(0, 50)]));
    expect(done).toMatchObject({ next: 2, failure: null });
    expect(done.pieces).toHaveLength(1);
  });

  test('a hole between batches stops in front of it, and what stood before is kept', () => {
    const done = run(Buffer.concat([data(0, 2), data(3, 2)]));
    expect(done.pieces).toHaveLength(1);
    expect(done.next).toBe(2);
    expect(done.failure).toMatchObject({ code: 'offset-gap', offset: 2, retriable: false });
    expect(done.failure?.message).toContain('orders-3');
  });

  test('a hole inside a batch, and a batch that compaction emptied', () => {
    expect(run(data(0, 2, { lastOffsetDelta: 4 })).failure).toMatchObject({ code: 'offset-gap', offset: 0 });
    const empty = buildBatch({ records: [], baseOffset: 0, lastOffsetDelta: 3 });
    expect(run(empty).failure).toMatchObject({ code: 'offset-gap', offset: 0 });
  });

  test('LogAppendTime, an old message format, an id without a place', () => {
    expect(run(data(0, 1, { logAppendTime: true })).failure).toMatchObject({
      code: 'log-append-time',
      offset: 0,
    });
    const old = data(0, 1);
    old.writeInt8(1, 16);
    expect(run(old).failure).toMatchObject({ code: 'old-magic', offset: 0 });
    const huge = data(0, 1, { producerId: 2n ** 61n - 2n, producerEpoch: 0, baseSequence: 0 });
    expect(run(huge).failure).toMatchObject({ code: 'producer-id-range', offset: 0 });
    expect(run(marker(0, 'COMMIT', 2n ** 61n)).failure).toMatchObject({
      code: 'producer-id-range',
      offset: 0,
    });
  });

  test('an offset above 2^53 - 1', () => {
    const far = data(0, 1);
    far.writeBigInt64BE(2n ** 53n, 0);
    expect(run(far, Number.MAX_SAFE_INTEGER).failure?.code).toBe('offset-range');
  });

  test('a destination end inside a source data batch', () => {
    const done = run(data(0, 4), 2);
    expect(done.failure).toMatchObject({ code: 'foreign-write', offset: 2 });
    expect(done.failure?.message).toMatch(/ends at 2.*0\.\.3/s);
  });

  test('bytes that are no batch', () => {
    const bad = data(0, 1);
    bad.writeInt32BE(-5, 8);
    expect(run(bad).failure?.code).toBe('bad-batch');
    const control = marker(0, 'COMMIT', 4n);
    control.fill(0xff, 61);
    expect(run(control).failure?.code).toBe('bad-batch');
  });
});

describe('single batches', () => {
  test('ids of -1 and of an earlier mirror stay as they are', () => {
    for (const id of [-1n, -2n, -77n]) {
      const [piece] = run(data(0, 1, { producerId: id, producerEpoch: 0, baseSequence: 0 })).pieces;
      expect(piece?.kind === 'data' && piece.bytes.readBigInt64BE(ID_AT)).toBe(id);
    }
    expect(run(marker(0, 'COMMIT', -9n)).pieces[0]).toMatchObject({ kind: 'commit', producerId: -9n });
  });

  test('an ABORT marker that no aborted transaction belongs to is inert (C4)', () => {
    expect(run(marker(7, 'ABORT', 5n), 7).pieces).toEqual([{ kind: 'inert', offset: 7, next: 8, epoch: 4 }]);
  });

  test('the filler of a chained mirror is the same marker here', () => {
    expect(run(marker(7, 'COMMIT', fillerId(7), [0, 0]), 7).pieces).toEqual([
      { kind: 'inert', offset: 7, next: 8, epoch: 4 },
    ]);
  });

  test('a barrier keeps hash and generation, as a marker and as type 7', () => {
    const id = barrierId('cluster-a');
    const expected = { kind: 'barrier', offset: 5, producerId: id, producerEpoch: 0, coordinatorEpoch: 3 };
    expect(run(marker(5, 'COMMIT', id, [0, 3]), 5).pieces[0]).toMatchObject(expected);
    const shown = buildMirrorPidResetBatch({
      sourceClusterId: 'cluster-a',
      generation: 3,
      producerId: id,
      producerEpoch: 0,
      timestamp: 1n,
      baseOffset: 5,
    });
    expect(run(shown, 5).pieces[0]).toMatchObject(expected);
    const foreign = buildMirrorPidResetBatch({
      sourceClusterId: 'cluster-a',
      generation: undefined,
      producerId: -1n,
      producerEpoch: -1,
      timestamp: 1n,
      baseOffset: 5,
    });
    expect(run(foreign, 5).pieces[0]).toMatchObject({ ...expected, coordinatorEpoch: 0 });
  });

  test('ten thousand aborted transactions in a row make one run, and progress (C3)', () => {
    const batches: Buffer[] = [];
    const aborted: AbortedTransaction[] = [];
    for (let i = 0; i < 10_000; i += 1) {
      const producerId = BigInt(i % 3);
      batches.push(data(2 * i, 1, { producerId, producerEpoch: 0, baseSequence: 0, transactional: true }));
      batches.push(marker(2 * i + 1, 'ABORT', producerId));
      aborted.push({ producerId, firstOffset: 2 * i });
    }
    const done = run(Buffer.concat(batches), 0, aborted);
    expect(done.pieces).toEqual([{ kind: 'inert', offset: 0, next: 20_000, epoch: 4 }]);
  });

  test('every data piece holds its frame once', () => {
    const pool = new FramePool(1 << 20);
    const records = Buffer.concat([data(0, 1), data(1, 1), marker(2, 'COMMIT', 1n)]);
    pool.tryReserve(1000);
    const frame = pool.adopt(records, 1000);
    const { pieces } = transform(ref, { records, aborted: [], next: 0, frame });
    frame.release();
    expect(pool.used).toBe(records.length);
    for (const piece of pieces) if (piece.kind === 'data') piece.frame?.release();
    expect(pool.used).toBe(0);
  });
});
