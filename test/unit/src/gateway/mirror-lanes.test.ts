import { describe, expect, it } from 'vitest';
import { Lane } from '../../../../src/gateway/mirror-lanes.ts';

const batch = (baseSequence: number, options: { epoch?: number; count?: number; id?: bigint } = {}) => ({
  producerId: options.id ?? 7n,
  producerEpoch: options.epoch ?? 0,
  baseSequence,
  count: options.count ?? 10,
});

describe('Lane', () => {
  it('an id not seen since the start is taken at sequence 0 only', () => {
    const lane = new Lane();
    expect(lane.judge(batch(40))).toBe('out-of-order');
    expect(lane.judge(batch(0))).toBe('follows');
  });

  it('the next batch follows, the same one again and a gap do not', () => {
    const lane = new Lane();
    lane.accepted(batch(0), 40);
    expect(lane.judge(batch(10))).toBe('follows');
    expect(lane.judge(batch(0))).toBe('out-of-order');
    expect(lane.judge(batch(20))).toBe('out-of-order');
  });

  it('what was judged and not stored changes nothing', () => {
    const lane = new Lane();
    expect(lane.judge(batch(0))).toBe('follows');
    expect(lane.judge(batch(0))).toBe('follows');
  });

  it('a newer epoch begins at 0, an older one is told apart', () => {
    const lane = new Lane();
    lane.accepted(batch(0, { epoch: 3 }), 40);
    expect(lane.judge(batch(10, { epoch: 4 }))).toBe('out-of-order');
    expect(lane.judge(batch(0, { epoch: 4 }))).toBe('follows');
    expect(lane.judge(batch(10, { epoch: 2 }))).toBe('old-epoch');
  });

  it('sequences wrap to 0 behind 2^31 - 1', () => {
    const lane = new Lane();
    lane.accepted(batch(0, { count: 2 ** 31 - 5 }), 40);
    lane.accepted(batch(2 ** 31 - 5, { count: 10 }), 2 ** 31 + 35);
    expect(lane.judge(batch(5))).toBe('follows');
  });

  it('a barrier or another log in between: its producers are none that are known', () => {
    const lane = new Lane();
    lane.standsAt(40);
    lane.accepted(batch(0), 40);
    lane.standsAt(50);
    expect(lane.judge(batch(10))).toBe('follows');
    // the barrier took offset 50
    lane.standsAt(51);
    expect(lane.judge(batch(10))).toBe('out-of-order');
    expect(lane.judge(batch(0))).toBe('follows');
  });

  it('a batch without a producer always follows', () => {
    expect(new Lane().judge(batch(-1, { id: -1n, epoch: -1 }))).toBe('follows');
  });

  it('is free again after release, and those who waited learn it', async () => {
    const lane = new Lane();
    expect(lane.free).toBeNull();
    lane.take();
    const waited = lane.free;
    lane.release();
    await waited;
    expect(lane.free).toBeNull();
  });
});
