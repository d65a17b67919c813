import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord, stopProgress } from '../unit/src/control/support/records.ts';

// Own fault: eight partitions whose leader was gone held every place among the stops that run at once, and no other
// partition of the mirror ever came to its failover.
let under: ControlUnderTest;
const stuck = 20;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('partitions without a leader do not keep the others from being stopped', async () => {
  const asked = Array.from({ length: stuck + 2 }, (_, partition) =>
    partitionRecord('STOPPING', { partition, stop: stopProgress() }),
  );
  await under.recorded(asked);
  for (let partition = 0; partition < stuck; partition++) {
    under.world.log('orders', partition).settle = () => new Promise(() => undefined);
  }
  under.start();
  await under.untilState('STOPPED', stuck);
  await under.untilState('STOPPED', stuck + 1);
  expect(under.record(0).state).toBe('STOPPING');
});
