import { expect, test } from 'vitest';
import type { Instant } from '../../../../../src/control/state/clock.ts';
import { Leases } from '../../../../../src/control/state/leases.ts';

function at(start = 1_000_000) {
  let now = start;
  const clock = (): Instant => ({ mono: now, wall: now });
  return { clock, pass: (ms: number) => (now += ms), now: (): Instant => ({ mono: now, wall: now }) };
}

test('writes of partition 0 are good for all that are ours', () => {
  const time = at();
  const leases = new Leases(time.clock, 3, 3_000);
  leases.begin(0, null);
  leases.begin(1, null);
  leases.acknowledge(0, time.now());
  expect([0, 1, 2].map((one) => leases.holds(one))).toEqual([true, true, false]);
});

test('without partition 0 each state partition lives on its own writes', () => {
  const time = at();
  const leases = new Leases(time.clock, 3, 3_000);
  for (const one of [0, 1, 2]) leases.begin(one, null);
  leases.acknowledge(0, time.now());
  time.pass(2_000);
  leases.acknowledge(1, time.now());
  time.pass(2_000);
  expect([0, 1, 2].map((one) => leases.holds(one))).toEqual([false, true, false]);
  time.pass(1_001);
  expect(leases.holds(1)).toBe(false);
});

test('a state partition taken over later is waited for by itself', () => {
  const time = at();
  const leases = new Leases(time.clock, 2, 3_000);
  leases.begin(0, null);
  leases.begin(1, time.now().mono);
  leases.acknowledge(0, time.now());
  expect([leases.holds(0), leases.holds(1)]).toEqual([true, false]);
  expect(leases.startsIn(1)).toBe(3_000);
  time.pass(3_000);
  expect(leases.holds(1)).toBe(true);
});

test('fenced is for ever, for all', () => {
  const time = at();
  const leases = new Leases(time.clock, 2, 3_000);
  for (const one of [0, 1]) leases.begin(one, null);
  leases.end();
  leases.acknowledge(0, time.now());
  leases.acknowledge(1, time.now());
  expect([leases.holds(0), leases.holds(1)]).toEqual([false, false]);
});
