import { afterEach, expect, inject, test } from 'vitest';
import { otherStates } from '../../src/control/other-states.ts';
import { TopicStateStore } from '../../src/control/state/index.ts';
import { Cluster } from '../../src/net/cluster.ts';

// Own fault: two instances with different state topics at one destination did not know of each other; it showed only
// when a topic that both mirrored had a foreign write.
const { kafka39 } = inject('clusters');
const clusters: Cluster[] = [];

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});

function connect(): Cluster {
  const cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': kafka39.bootstrap } });
  clusters.push(cluster);
  return cluster;
}

test('an instance with another state topic is found while it lives, and not when it has ended', async () => {
  const topic = '__state-of-another';
  const other = new TopicStateStore({
    cluster: connect(),
    settings: { topic, partitions: 1, replicationFactor: 1 },
    openTimeoutMs: 30_000,
  });
  await other.open();
  const cluster = connect();
  await cluster.connect();
  const { signal } = new AbortController();
  expect(await otherStates(cluster, '__ours', signal)).toContain(topic);
  expect(await otherStates(cluster, topic, signal)).not.toContain(topic);
  await other.close();
  expect(await otherStates(cluster, '__ours', signal)).not.toContain(topic);
});
