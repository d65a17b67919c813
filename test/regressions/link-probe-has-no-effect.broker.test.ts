import { afterAll, describe, expect, inject, test } from 'vitest';
import { createTopicsApi } from '../../protocol/schema/index.ts';
import { EndReader } from '../../src/link/end-reader.ts';
import { Prober } from '../../src/link/prober.ts';
import { defaultLinkSettings } from '../../src/link/settings.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { until } from '../harness/until.ts';

/**
 * The probe rests on what a stock broker does with a batch whose last offset delta disagrees with its count: refused
 * behind the leader check and under the log lock, nothing stored. That must hold whatever the topic's settings are,
 * also where the record itself would be refused (no key on a compacted topic, a time of long ago).
 */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {},
  compacted: { 'cleanup.policy': 'compact' },
  both: { 'cleanup.policy': 'compact,delete' },
  recompressing: { 'compression.type': 'gzip' },
  stamping: { 'message.timestamp.type': 'LogAppendTime' },
  'times-bounded': { 'message.timestamp.before.max.ms': '1000', 'message.timestamp.after.max.ms': '1000' },
  'too-few-replicas': { 'min.insync.replicas': '2' },
  'small-batches': { 'max.message.bytes': '100' },
};

const clusters: Cluster[] = [];
afterAll(() => Promise.all(clusters.map((cluster) => cluster.close())));

describe.each(['kafka44', 'kafka39'] as const)('%s', (name) => {
  test('a round of probes is refused as it must be and leaves every log as it was', async () => {
    const cluster = new Cluster({
      name,
      properties: { 'bootstrap.servers': inject('clusters')[name].bootstrap },
    });
    clusters.push(cluster);
    await cluster.refresh([]);
    const topics = Object.entries(SETTINGS).map(([kind, configs]) => ({
      name: `probed-${name}-${kind}`,
      numPartitions: 1,
      replicationFactor: 1,
      configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
    }));
    const admin = await cluster.connection(cluster.controllerId, 'test');
    const made = await admin.call(createTopicsApi, { topics, timeoutMs: 30_000 });
    expect(made.topics.filter(({ errorCode }) => errorCode !== 0)).toEqual([]);
    const names = topics.map((topic) => topic.name);
    await until('every topic has a leader', async () => {
      await cluster.refresh(names);
      return names.every((topic) => cluster.leaderOf(topic, 0) !== undefined);
    });
    // metadata tells of a leader a moment before the broker itself takes it up
    const ends = new EndReader(cluster, defaultLinkSettings);
    for (const topic of names) await ends.read({ topic, partition: 0 });

    const lanes = new Set<string>();
    const connection = cluster.connection.bind(cluster);
    cluster.connection = (nodeId, lane, options) => {
      lanes.add(lane);
      return connection(nodeId, lane, options);
    };
    const prober = new Prober(cluster, { ...defaultLinkSettings, readBackTimeoutMs: 20_000 });
    const faults = await Promise.all(
      names.map((topic) => {
        const ref = { topic, partition: 0 };
        const nodeId = cluster.leaderOf(topic, 0)?.nodeId ?? -1;
        return prober.round(nodeId, ref, cluster.topic(topic)?.topicId ?? '');
      }),
    );
    expect(Object.fromEntries(names.map((topic, i) => [topic, faults[i]]))).toEqual(
      Object.fromEntries(names.map((topic) => [topic, null])),
    );
    // the harness gives a broker 4 request threads, and one connection more must be used
    expect([...lanes].filter((lane) => lane.startsWith('probe-'))).toHaveLength(5);

    for (const topic of names) {
      expect(await ends.read({ topic, partition: 0 }), topic).toMatchObject({ end: 0, highWatermark: 0 });
    }
  });
});
