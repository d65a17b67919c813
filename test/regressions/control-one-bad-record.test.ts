import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type SyncError, syncError } from '../../src/observe/channels.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord, stopProgress, topicRecord } from '../unit/src/control/support/records.ts';

// Own faults: one record that the state topic refused ended every round of its mirror before the other topics were
// looked at, so their failover never began; and the same line was logged four times a second.
let under: ControlUnderTest;
const lines: SyncError[] = [];
let end: () => void;

beforeEach(() => {
  under = new ControlUnderTest();
  lines.length = 0;
  end = syncError.subscribe((line) => lines.push(line));
});
afterEach(async () => {
  end();
  await under.close();
});

test('a record that can not be written holds up its own topic only, and is told now and then', async () => {
  await under.store.write([
    { put: { ...topicRecord, topic: 'a-bad-one' } },
    { put: partitionRecord('FAILED', { topic: 'a-bad-one', previousState: 'LOG_ALIGNMENT' }) },
  ]);
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })]);
  const write = under.store.write.bind(under.store);
  under.store.write = async (changes) => {
    const isBad = changes.some(
      (change) => 'put' in change && change.put.kind === 'partition' && change.put.topic === 'a-bad-one',
    );
    if (isBad) throw new Error('a state record is too large');
    return write(changes);
  };
  under.start();
  await under.untilState('STOPPED');
  await under.after(120_000);
  const told = lines.filter(({ message }) => message === 'a state record is too large');
  expect(told.length).toBeGreaterThan(1);
  expect(told.length).toBeLessThan(20);
  await vi.waitFor(() => expect(under.store.view.topics.get('orders')?.configsPending).toBe(false));
});
