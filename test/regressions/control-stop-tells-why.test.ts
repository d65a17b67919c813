import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LinkFailureError } from '../../src/link/index.ts';
import type { PartitionRecord } from '../../src/control/state/types.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord, stopProgress, topicRecord } from '../unit/src/control/support/records.ts';

// Own faults: a stop that the broker refused for a missing right went on as STOPPING without a word to whoever waited
// for it; a topic that a broker did not know for a moment was FAILED for good; a source that never answered the
// opening of a connection held a failover up.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('a right that the barrier needs is FAILED with the reason, and goes on once it is granted', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })]);
  const log = under.world.log('orders', 0);
  let refusals = 0;
  log.fault = (request) => {
    if (request !== 'appendBarrier' || refusals === 3) return;
    refusals += 1;
    const message = 'grant CLUSTER_ACTION';
    throw new LinkFailureError({ code: 'authorization', message, offset: 0, retriable: true });
  };
  const failures: PartitionRecord[] = [];
  under.store.onChange((changes) => {
    for (const { record } of changes)
      if (record?.kind === 'partition' && record.state === 'FAILED') failures.push(record);
  });
  under.start();
  await under.untilState('STOPPED');
  expect(failures).toMatchObject(
    [0, 1, 2].map((retryAttempt) => ({
      previousState: 'STOPPING',
      errorMessage: 'grant CLUSTER_ACTION',
      retryAttempt,
    })),
  );
  expect(log.barriers()).toEqual([0]);
});

test('a destination topic that is unknown for a moment is not gone', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress(), persistedEnd: 4 })]);
  under.world.log('orders', 0).data(4, -7n);
  const { destination } = under.world;
  const describe = vi.spyOn(destination, 'describeTopic').mockResolvedValueOnce(null);
  under.start();
  await under.untilState('STOPPED');
  expect(describe.mock.calls.length).toBeGreaterThan(1);
  expect(under.world.log('orders', 0).barriers()).toEqual([4]);
});

test('nor is one that is to be mirrored', async () => {
  await under.recorded([partitionRecord('MIRRORING')]);
  vi.spyOn(under.world.destination, 'describeTopic').mockResolvedValueOnce(null);
  under.start();
  await vi.waitFor(() => expect(under.world.links[0]?.resumes.has('orders/0')).toBe(true));
});

test('a source that never answers is waited for only so long', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress(), persistedEnd: 4 })]);
  under.world.log('orders', 0).data(6, -7n);
  under.world.openSource = () => new Promise(() => undefined);
  under.start();
  await under.untilState('STOPPED');
  expect(under.record().report?.unverified).toMatchObject([{ from: 4, to: 6 }]);
});

test('a source that never answers keeps neither another topic from STOPPED nor the process from its end', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })]);
  const waiting = { ...topicRecord, topic: 'a-topic-before' };
  await under.store.write([
    { put: waiting },
    { put: partitionRecord('MIRRORING', { topic: waiting.topic }) },
  ]);
  // the topic that waits for the source is looked at first
  const { topics } = under.store.view;
  const orders = topics.get('orders');
  topics.delete('orders');
  if (orders !== undefined) topics.set('orders', orders);
  under.world.openSource = () => new Promise(() => undefined);
  under.start();
  await under.untilState('STOPPED');
});

test('a link that fails while its partition waits to be stopped does not undo the stop', async () => {
  await under.recorded([
    partitionRecord('MIRRORING', { persistedEnd: 4, epochs: [{ epoch: 0, offset: 0 }] }),
  ]);
  under.world.log('orders', 0).data(6, -7n);
  under.start();
  const ref = { topic: 'orders', partition: 0 };
  await vi.waitFor(() => expect(under.world.links[0]?.resumes.has('orders/0')).toBe(true));
  const { link } = under.world;
  await link.mirrored(ref, 4);
  const turn = Promise.withResolvers<void>();
  under.store.whenMayAppend = () => turn.promise;
  await under.ask('failover', { mirror: 'east-to-west', all: true });
  await under.untilState('STOPPING');
  link.hooks.failed(ref, { code: 'foreign-write', message: 'not ours', offset: 4, retriable: false });
  await under.after(2000);
  turn.resolve();
  await under.untilState('STOPPED');
  // the stop has judged the tail itself
  expect(under.world.log('orders', 0).settles).toBe(1);
  expect(under.world.log('orders', 0).barriers()).toEqual([6]);
});

test('a stop that waits for its partition says for what, and no longer when it goes on', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })]);
  const log = under.world.log('orders', 0);
  const leader = Promise.withResolvers<void>();
  under.world.partition = (_mirror, _ref, onWait) => ({
    readEnd: () => log.readEnd(),
    settle: async () => {
      onWait?.('orders-0 has no leader on west');
      await leader.promise;
      return log.settle();
    },
    readBatches: (from, to, visit) => log.readBatches(from, to, visit),
    appendBarrier: (barrier) => log.appendBarrier(barrier),
  });
  under.start();
  const shown = () => under.control.rows(['east-to-west'])[0]?.errorMessage;
  await vi.waitFor(() => expect(shown()).toBe('orders-0 has no leader on west'));
  leader.resolve();
  await under.untilState('STOPPED');
  await vi.waitFor(() => expect(shown()).toBeNull());
});
