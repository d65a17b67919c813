import { afterEach, expect, inject, test } from 'vitest';
import { encodeRecord } from '../../src/control/state/codec.ts';
import { TopicStateStore, keyText } from '../../src/control/state/index.ts';
import { TransactionalProducer } from '../../src/control/state/transactional-producer.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { until } from '../harness/until.ts';
import { mirror } from '../unit/src/control/state/samples.ts';

// Own fault: a process whose state topic could not be read on (a newer Isthmus wrote to it, it was created anew)
// stayed up for ever: it appended nothing, answered no verb, and nobody started it anew.
const { kafka39 } = inject('clusters');
const clusters: Cluster[] = [];

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});

test('a state that can not be read on ends the process, with the reason', async () => {
  const connect = (): Cluster => {
    const cluster = new Cluster({
      name: 'west',
      properties: { 'bootstrap.servers': kafka39.bootstrap },
    });
    clusters.push(cluster);
    return cluster;
  };
  const topic = '__state-unreadable';
  const settings = { topic, partitions: 2, replicationFactor: 1 };
  const store = new TopicStateStore({ cluster: connect(), settings, openTimeoutMs: 30_000 });
  await store.open();
  const ends: Error[] = [];
  store.onFenced((error) => ends.push(error));
  const other = connect();
  await other.refresh([topic]);
  const newer = new TransactionalProducer({
    cluster: other,
    topic,
    partition: 0,
    transactionalId: 'a-newer-isthmus',
    signal: new AbortController().signal,
  });
  await newer.init();
  const record = { ...mirror, name: 'newer' };
  await newer.commit([[{ key: keyText(record), value: encodeRecord(record, 9, 2), timestamp: 1n }]]);

  await until('the store has ended', () => ends.length === 1);
  expect(ends[0]?.message).toMatch(/mirror\/newer has version 2/);
  expect(store.fenced).toBe(true);
  expect(store.mayAppend()).toBe(false);
  await expect(store.write([{ put: mirror }])).rejects.toThrow(/version 2/);
  const late: Error[] = [];
  store.onFenced((error) => late.push(error));
  expect(late).toHaveLength(1);
  await store.close(new Map([['orders/0', 5]]));
  // nothing was released by it
  const after = new TopicStateStore({ cluster: connect(), settings, openTimeoutMs: 30_000 });
  await expect(after.open()).rejects.toThrow(/run that one, or a later one/);
});
