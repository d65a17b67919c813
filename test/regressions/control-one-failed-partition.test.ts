import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// Own fault: after a restart, a topic with one partition that FAILED for good was prepared again and again, and its
// other partitions were never mirrored.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('a partition that FAILED for good does not keep the others of its topic from being mirrored', async () => {
  const epochs = [{ epoch: 0, offset: 0 }];
  await under.recorded([
    partitionRecord('FAILED', {
      previousState: 'MIRRORING',
      retryAttempt: -1,
      errorMessage: 'foreign',
      epochs,
    }),
    partitionRecord('MIRRORING', { partition: 1, epochs }),
  ]);
  under.start();
  await vi.waitFor(() => expect([...under.world.link.resumes.keys()]).toEqual(['orders/1']));
});
