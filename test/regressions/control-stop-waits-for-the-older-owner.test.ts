import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord, stopProgress } from '../unit/src/control/support/records.ts';

// Own fault: a new owner probed and read the end for STOPPING while the owner that it had fenced could still append
// for 3 s: that append, or that owner's own barrier, would have landed behind the new barrier.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('a stop begins only when an older owner has certainly ended', async () => {
  const older = Promise.withResolvers<void>();
  under.store.whenMayAppend = () => older.promise;
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress(), persistedEnd: 4 })]);
  const log = under.world.log('orders', 0).data(4, -7n);
  under.start();
  await under.after(2500);
  expect(log.settles).toBe(0);
  // the older owner's last append, within its lease
  log.data(1, -7n);
  older.resolve();
  await under.untilState('STOPPED');
  expect(log.settles).toBe(1);
  expect(log.barriers()).toEqual([5]);
});
