import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// Redpanda pull request 31659: after a promotion the first producer drew an id that stood in mirrored batches, and its
// records were acknowledged as duplicates and lost. Local writers are let in only behind a barrier that was read back.
// (The ids themselves: test/integration/failover.test.ts, with Java producers.)
let under: ControlUnderTest;

beforeEach(async () => {
  under = new ControlUnderTest();
  await under.recorded([
    partitionRecord('MIRRORING', { persistedEnd: 4, epochs: [{ epoch: 0, offset: 0 }] }),
  ]);
  under.world.log('orders', 0).data(4, -7n);
});
afterEach(() => under.close());

test('until the barrier stands a gateway refuses writers, also through failures in the middle', async () => {
  const log = under.world.log('orders', 0);
  const readOnlyAtBarrier: boolean[] = [];
  let failures = 0;
  log.fault = (request) => {
    if (request !== 'appendBarrier' && request !== 'appended') return;
    readOnlyAtBarrier.push(under.control.view.topic('orders')?.isReadOnly(0) ?? false);
    failures += 1;
    if (failures <= 3) throw new Error('the connection was lost');
  };
  under.start();
  await under.ask('failover', { mirror: 'east-to-west', all: true });
  await under.untilState('STOPPED');
  expect(failures).toBeGreaterThan(1);
  expect(readOnlyAtBarrier).not.toContain(false);
  expect(log.barriers()).toEqual([4]);
  expect(under.control.view.topic('orders')?.isReadOnly(0)).toBe(false);
});

test('a crash between the barrier and its record ends in one barrier', async () => {
  const log = under.world.log('orders', 0);
  under.start();
  const write = under.store.write.bind(under.store);
  let crashed = false;
  under.store.write = async (changes) => {
    const step5 = changes.some(
      (change) => 'put' in change && change.put.kind === 'partition' && change.put.stop?.step === 5,
    );
    if (step5 && !crashed) {
      crashed = true;
      throw new Error('crash');
    }
    return write(changes);
  };
  await under.ask('failover', { mirror: 'east-to-west', all: true });
  await vi.waitFor(() => expect(crashed).toBe(true));
  await under.untilState('STOPPED');
  expect(log.barriers()).toEqual([4]);
});
