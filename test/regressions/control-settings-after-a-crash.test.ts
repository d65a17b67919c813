import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AdminError } from '../../src/control/ports.ts';
import type { StateChange } from '../../src/control/state/types.ts';
import type { GatewayConfig } from '../../src/gateway/config.ts';
import { judgeSettings } from '../../src/gateway/guard.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { unreachable } from '../unit/src/control/support/fake-world.ts';
import { partitionRecord, stopProgress, topicRecord } from '../unit/src/control/support/records.ts';

// Own faults: partition and topic records live in different state partitions, so a kill between their two
// transactions left a topic STOPPED whose settings nobody ever gave back; and a topic whose creation ended after its
// stop kept the mirror's settings for good.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

const gatewayConfig: GatewayConfig = {
  name: 'gw',
  role: 'client',
  mirror: null,
  bind: { host: '127.0.0.1', port: 0 },
  advertise: '127.0.0.1',
  brokerPorts: new Map(),
  readOnlyError: 'policy-violation',
};

const judged = () => judgeSettings({ view: under.control.view, config: gatewayConfig }, 'orders');

const isPartition = (change: StateChange) => 'put' in change && change.put.kind === 'partition';

test('a kill between the two transactions of STOPPED loses no settings', async () => {
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })], {
    desired: 'STOPPED',
    sourceSettings: { 'retention.ms': '7' },
  });
  under.world.destination.topics.get('orders')?.configs.set('retention.ms', '-1');
  const write = under.store.write.bind(under.store);
  let killed = false;
  under.store.write = async (changes) => {
    if (killed) throw new Error('this process was killed');
    const isLast = changes.some(
      (change) => 'put' in change && change.put.kind === 'partition' && change.put.state === 'STOPPED',
    );
    if (!isLast) return write(changes);
    killed = true;
    await write(changes.filter(isPartition));
    throw new Error('this process was killed');
  };
  under.start();
  await under.untilState('STOPPED');
  await under.close();

  under.store.write = write;
  under.start();
  await vi.waitFor(() => {
    expect(under.world.destination.topics.get('orders')?.configs.get('retention.ms')).toBe('7');
    expect(under.store.view.topics.get('orders')?.configsPending).toBe(false);
  });
});

test('a topic that was being created when its mirror was stopped gets the settings of the source', async () => {
  await under.recorded([partitionRecord('LOG_ALIGNMENT')], { destinationTopicId: '' });
  under.world.destination.topics.clear();
  under.world.source.topics.get('orders')?.configs.set('retention.ms', '7');
  const { destination } = under.world;
  const create = destination.createTopic.bind(destination);
  const slow = Promise.withResolvers<void>();
  let asked = false;
  destination.createTopic = async (topic) => {
    asked = true;
    await slow.promise;
    return create(topic);
  };
  under.start();
  await vi.waitFor(() => expect(asked).toBe(true));
  await under.ask('stop', { mirror: 'east-to-west', all: true });
  await under.untilState('STOPPED');
  slow.resolve();
  await vi.waitFor(() => {
    expect(Object.fromEntries(destination.topics.get(topicRecord.topic)?.configs ?? [])).toEqual({
      'retention.ms': '7',
    });
  });
});

test('a topic that a broker does not know for a moment gets its settings all the same', async () => {
  await under.recorded([partitionRecord('STOPPED')], {
    desired: 'STOPPED',
    configsPending: true,
    sourceSettings: { 'retention.ms': '7' },
  });
  const { destination } = under.world;
  vi.spyOn(destination, 'describeTopic').mockResolvedValueOnce(null).mockResolvedValueOnce(null);
  under.start();
  await vi.waitFor(() => expect(under.store.view.topics.get('orders')?.configsPending).toBe(false));
  expect(destination.topics.get('orders')?.configs.get('retention.ms')).toBe('7');
});

test('a topic that is gone for good has nothing to be given back', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED', configsPending: true });
  under.world.destination.topics.clear();
  under.start();
  await vi.waitFor(() => expect(under.store.view.topics.get('orders')?.configsPending).toBe(false));
});

// Own fault: a client that changed a setting between STOPPED and the giving back saw its change overwritten.
test('what a client sets before they are given back stays', async () => {
  await under.recorded([partitionRecord('STOPPED')], {
    desired: 'STOPPED',
    configsPending: true,
    sourceSettings: { 'retention.ms': '7', 'retention.bytes': '9' },
  });
  const configs = under.world.destination.topics.get('orders')?.configs;
  configs?.set('retention.ms', '86400000');
  configs?.set('retention.bytes', '-1');
  under.start();
  await vi.waitFor(() => expect(under.store.view.topics.get('orders')?.configsPending).toBe(false));
  expect(Object.fromEntries(configs ?? [])).toEqual({ 'retention.ms': '86400000', 'retention.bytes': '9' });
});

test('through a gateway no setting is changed until they are given back', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED', configsPending: true });
  under.world.destination.fault = unreachable('west');
  under.start();
  expect(judged()?.message).toContain('are being given back');
  under.world.destination.fault = null;
  await vi.waitFor(() => expect(judged()).toBeUndefined());
});

// Own fault: one value that the destination refused, by a policy for instance, kept all others from being given back, and
// every change through a gateway was refused for good, with "try again in a moment".
test('a setting that is refused keeps no other, and no client, waiting', async () => {
  await under.recorded([partitionRecord('STOPPED')], {
    desired: 'STOPPED',
    configsPending: true,
    sourceSettings: { 'retention.ms': '7', 'max.message.bytes': '99' },
  });
  const { destination } = under.world;
  const configs = destination.topics.get('orders')?.configs;
  configs?.set('retention.ms', '-1');
  const alter = destination.alterTopicConfigs.bind(destination);
  destination.alterTopicConfigs = async (topic, changes) => {
    const isTooLarge = changes.some(({ name, value }) => name === 'max.message.bytes' && value !== null);
    if (isTooLarge) throw new AdminError('POLICY_VIOLATION (max.message.bytes)', 44, false);
    await alter(topic, changes);
  };
  under.start();
  await vi.waitFor(() => expect(configs?.get('retention.ms')).toBe('7'));
  await vi.waitFor(() => expect(judged()).toBeUndefined());
  expect(under.control.rows(null)).toMatchObject([
    { configsPending: true, errorMessage: expect.stringContaining('POLICY_VIOLATION (max.message.bytes)') },
  ]);
  destination.alterTopicConfigs = alter;
  await vi.waitFor(() => expect(under.store.view.topics.get('orders')?.configsPending).toBe(false));
  expect(configs?.get('max.message.bytes')).toBe('99');
});
