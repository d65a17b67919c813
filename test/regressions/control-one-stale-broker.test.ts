import { afterEach, expect, test } from 'vitest';
import { KafkaClusterAdmin } from '../../src/control/cluster-admin.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { metadata } from '../fake-broker/api/03-metadata.ts';
import { type FakeCluster, startFakeBroker } from '../fake-broker/index.ts';
import type { Handler } from '../fake-broker/registry.ts';

/**
 * Own fault: whether a topic is there, and which one, was one broker's word. One that is cut off since before the topic
 * was made, or has just started, made a mirror FAILED for good, and a stop with --accept-damage gave up a topic that was
 * there.
 */
let fake: FakeCluster;
let cluster: Cluster;
afterEach(async () => {
  await cluster.close();
  await fake.close();
});

/** Node 1 knows no topic, or an older one. */
function stale(known: 'nothing' | 'an older topic'): Handler {
  return {
    ...metadata,
    handle(input, output, context) {
      if (context.request.node !== 1) return metadata.handle(input, output, context);
      const topics = [...context.state.topics].map(
        ([name, topic]) => [name, { ...topic, topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' }] as const,
      );
      const state = Object.create(context.state, {
        topics: { value: new Map(known === 'nothing' ? [] : topics) },
      }) as typeof context.state;
      return metadata.handle(input, output, { ...context, state });
    },
  };
}

test.each(['nothing', 'an older topic'] as const)('the broker that is asked knows %s', async (known) => {
  fake = await startFakeBroker({ brokers: 3, topics: ['orders'], apis: { 3: stale(known) } });
  const { host, port } = fake.address(1);
  cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': `${host}:${port}` } });
  const expected = fake.state.topics.get('orders')?.topicId;
  const admin = new KafkaClusterAdmin(cluster);
  expect(await admin.describeTopic('orders', expected)).toMatchObject({ topicId: expected, partitions: 1 });
});

test('what no broker knows is not there', async () => {
  fake = await startFakeBroker({ brokers: 3, topics: ['orders'] });
  cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
  expect(await new KafkaClusterAdmin(cluster).describeTopic('payments')).toBeNull();
});

test('a broker that takes requests and answers none is asked once', async () => {
  const DESCRIBE_CONFIGS = 32;
  const configs: Handler = {
    versions: [0, 0],
    flexibleFrom: 4,
    handle(_, output) {
      output.i32(0).list(
        [null],
        () =>
          void output
            .i16(0)
            .str(null)
            .i8(2)
            .str('orders')
            .list([], () => undefined),
      );
      return { body: output };
    },
  };
  fake = await startFakeBroker({ topics: ['orders'], apis: { [DESCRIBE_CONFIGS]: configs } });
  cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
  const admin = new KafkaClusterAdmin(cluster, 1_500);
  fake.next(DESCRIBE_CONFIGS, { kind: 'hold', when: 'before' });
  await expect(admin.topicConfigs('orders')).rejects.toThrow(/not answered within 1500 ms/);
  expect(await admin.topicConfigs('orders')).toEqual([]);
});
