import { describe, expect, test } from 'vitest';
import { Lease } from '../../../../../src/control/state/lease.ts';

function at(mono: number, wall = mono) {
  const now = { mono, wall };
  return { now, clock: () => ({ ...now }) };
}

describe('lease', () => {
  test('nothing may be appended before we own the state, nor before the first acknowledgement', () => {
    const { clock } = at(0);
    const lease = new Lease(clock, 3_000);
    expect(lease.holds).toBe(false);
    lease.begin(null);
    expect(lease.holds).toBe(false);
    lease.acknowledge(clock());
    expect(lease.holds).toBe(true);
  });

  test('it ends so long after the SENDING of the last acknowledged write, and comes back with the next', () => {
    const { now, clock } = at(1_000);
    const lease = new Lease(clock, 3_000);
    lease.begin(null);
    lease.acknowledge({ mono: 1_000, wall: 1_000 });
    now.mono = now.wall = 4_000;
    expect(lease.holds).toBe(true);
    now.mono = now.wall = 4_001;
    expect(lease.holds).toBe(false);
    lease.acknowledge({ mono: 3_500, wall: 3_500 });
    expect(lease.holds).toBe(true);
  });

  test('a process that was suspended, so that only the wall clock ran on, has lost it', () => {
    const { now, clock } = at(1_000);
    const lease = new Lease(clock, 3_000);
    lease.begin(null);
    lease.acknowledge(clock());
    now.wall = 60_000;
    expect(lease.holds).toBe(false);
  });

  test('a wall clock set back does not lengthen it', () => {
    const { now, clock } = at(100_000);
    const lease = new Lease(clock, 3_000);
    lease.begin(null);
    lease.acknowledge(clock());
    now.mono += 3_001;
    now.wall -= 50_000;
    expect(lease.holds).toBe(false);
  });

  test('an older instance that did not release is given its whole lease first', () => {
    const { now, clock } = at(10_000);
    const lease = new Lease(clock, 3_000);
    lease.begin(9_000);
    lease.acknowledge(clock());
    expect(lease.startsIn).toBe(2_000);
    expect(lease.holds).toBe(false);
    now.mono = now.wall = 12_000;
    expect(lease.holds).toBe(true);
  });

  test('acknowledgements that arrive out of order never shorten it; fenced is for ever', () => {
    const { clock } = at(5_000);
    const lease = new Lease(clock, 3_000);
    lease.begin(null);
    lease.acknowledge({ mono: 5_000, wall: 5_000 });
    lease.acknowledge({ mono: 1_000, wall: 1_000 });
    expect(lease.holds).toBe(true);
    lease.end();
    lease.acknowledge({ mono: 6_000, wall: 6_000 });
    expect(lease.holds).toBe(false);
  });
});
