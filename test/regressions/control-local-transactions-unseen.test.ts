import { afterEach, expect, test } from 'vitest';
import { KafkaClusterAdmin } from '../../src/control/cluster-admin.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { type FakeCluster, startFakeBroker } from '../fake-broker/index.ts';

/**
 * Local transactions are looked for before a mirror begins and at every start. A broker that can't be asked, or does
 * not know the question, hides what it coordinates; it must not keep a mirror from starting.
 */
let fake: FakeCluster;
let cluster: Cluster;
afterEach(async () => {
  await cluster.close();
  await fake.close();
});

test('brokers that can not tell are named, and nothing is refused', async () => {
  fake = await startFakeBroker({ brokers: 2, topics: [{ name: 'orders' }] });
  cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
  await cluster.connect();
  const [, two] = fake.state.nodes;
  if (two === undefined) throw new Error('two brokers are needed');
  // nobody listens there
  two.port = 1;
  const { byTopic, unseen } = await new KafkaClusterAdmin(cluster).localTransactions();
  expect(byTopic.size).toBe(0);
  expect(unseen).toMatch(/at west is not known in full: .*ListTransactions: we need 0 to 2/);
  expect(unseen).toMatch(/broker 2: .*127\.0\.0\.1:1 .*connect-failed/);
});
