import { describe, expect, it } from 'vitest';
import { PenaltyBox } from '../../../../src/gateway/penalty.ts';

describe('PenaltyBox', () => {
  const fail = (box: PenaltyBox, times: number): void => {
    for (let n = 0; n < times; n += 1) box.ended('10.0.0.1', 'bad-frame', false);
  };

  it('some failures are free, then each waits twice as long, up to the bound', () => {
    const box = new PenaltyBox(1_000, () => 0);
    const delays = Array.from({ length: 12 }, () => {
      fail(box, 1);
      return box.delayFor('10.0.0.1');
    });
    expect(delays).toEqual([0, 0, 0, 0, 0, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
    expect(box.delayFor('10.0.0.2')).toBe(0);
  });

  it('a served connection clears it, one that just left does not', () => {
    const box = new PenaltyBox(1_000, () => 0);
    fail(box, 8);
    box.ended('10.0.0.1', 'peer-closed', false);
    expect(box.delayFor('10.0.0.1')).toBe(400);
    box.ended('10.0.0.1', 'peer-closed', true);
    expect(box.delayFor('10.0.0.1')).toBe(0);
  });

  it('is forgotten after a minute', () => {
    let now = 0;
    const box = new PenaltyBox(1_000, () => now);
    fail(box, 8);
    now = 60_001;
    expect(box.delayFor('10.0.0.1')).toBe(0);
  });

  it('a delay of 0 in the settings turns it off', () => {
    const box = new PenaltyBox(0, () => 0);
    fail(box, 20);
    expect(box.delayFor('10.0.0.1')).toBe(0);
  });
});
