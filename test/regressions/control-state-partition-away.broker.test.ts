import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { buildBatch } from '../../protocol/records/build.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { statePartitionOf } from '../../src/control/state/keys.ts';
import { TopicStateStore } from '../../src/control/state/index.ts';
import { TransactionalProducer } from '../../src/control/state/transactional-producer.ts';
import type { DescribeRow } from '../../src/control/index.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { InProcess } from '../integration/support/isthmus-in-process.ts';
import { Topics } from '../integration/support/topics.ts';
import { freePorts } from '../harness/free-port.ts';
import { type KafkaCluster, startCluster } from '../harness/kafka-cluster.ts';
import { until } from '../harness/until.ts';

// Own fault: one state partition without a leader (a lost broker, the state topic with one replica) stopped every mirror
// and every failover of its destination, also of topics whose state lay on brokers that were up.
const source = inject('clusters').kafka39.bootstrap;
const STATE = '__state-of-three';
const STATE_PARTITIONS = 3;
let kafka: KafkaCluster;
let sourceTopics: Topics;
const clusters: Cluster[] = [];
const running: InProcess[] = [];
const readers: TopicStateStore[] = [];

beforeAll(async () => {
  sourceTopics = new Topics(source);
  kafka = await startCluster({
    version: '4.4.0',
    brokers: 3,
    heapMb: 320,
    properties: { 'transaction.state.log.replication.factor': '3', 'controlled.shutdown.enable': 'true' },
  });
}, 90_000);

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  for (const store of readers.splice(0)) await store.close();
  for (const cluster of clusters.splice(0)) await cluster.close();
  await kafka.startAll();
}, 60_000);

afterAll(async () => {
  await sourceTopics?.close();
  await kafka?.destroy();
});

function connect(bootstrap: string): Cluster {
  const cluster = new Cluster({ name: 'test', properties: { 'bootstrap.servers': bootstrap } });
  clusters.push(cluster);
  return cluster;
}

/** @returns the error code for the one batch */
async function append(cluster: Cluster, topic: string, count: number): Promise<number> {
  await cluster.refresh([topic]);
  const leader = cluster.leaderOf(topic, 0);
  if (leader === undefined) return -1;
  const value = Buffer.from('v');
  const records = Array.from({ length: count }, () => ({ key: 'k', value, timestamp: BigInt(Date.now()) }));
  const connection = await cluster.connection(leader.nodeId, 'test');
  const answer = await connection.call(
    produceApi,
    {
      transactionalId: null,
      acks: -1,
      timeoutMs: 5_000,
      topicData: [{ name: topic, partitionData: [{ index: 0, records: buildBatch({ records }) }] }],
    },
    { maxVersion: 9, timeoutMs: 10_000 },
  );
  return answer.responses[0]?.partitionResponses[0]?.errorCode ?? -1;
}

/** A name of a topic whose one partition's state lives in that state partition. */
function topicIn(home: number, name: string): string {
  for (let at = 0; ; at++) {
    const topic = `${name}-${at}`;
    if (statePartitionOf(topic, 0, STATE_PARTITIONS) === home) return topic;
  }
}

async function yamlFor(stateTopic: string): Promise<{ yaml: string; port: number }> {
  const [port, ...brokerPorts] = await freePorts(4);
  const yaml = `clusters:
  east: { bootstrap.servers: "${source}" }
  west: { bootstrap.servers: "${kafka.bootstrap}" }
gateways:
  - { name: west, cluster: west, role: client, bind: "127.0.0.1:${port}", nodeIds: 1-3, brokerPorts: "${brokerPorts.join(',')}" }
state: { topic: ${stateTopic}, partitions: ${STATE_PARTITIONS}, replication.factor: 1 }
`;
  return { yaml, port: port as number };
}

async function isthmus(yaml: string, port: number): Promise<InProcess> {
  const one = new InProcess(yaml, { gateway: port, broker: 0 });
  running.push(one);
  return one.start();
}

/** Each state partition has one replica. */
async function brokersOf(stateTopic: string): Promise<number[]> {
  const cluster = connect(kafka.bootstrap);
  return until('every partition has a leader', async () => {
    // a broker that has just come back learns of new topics last
    await cluster.refresh([stateTopic]);
    const leaders = [0, 1, 2].map((partition) => cluster.leaderOf(stateTopic, partition)?.nodeId ?? -1);
    return leaders.every((nodeId) => nodeId >= 0) && leaders;
  });
}

const rowOf = async (one: InProcess, topic: string) =>
  (await one.rows('m')).find((row) => row.topic === topic);

/** Follows what is written there. */
async function reader(stateTopic: string): Promise<TopicStateStore> {
  const settings = { topic: stateTopic, partitions: STATE_PARTITIONS, replicationFactor: 1 };
  const store = new TopicStateStore({ cluster: connect(kafka.bootstrap), settings, observe: true });
  readers.push(store);
  await store.open();
  return store;
}

/** So many state partitions are told as out of reach: a verb that they don't concern is not refused any more. */
async function untilOutages(one: InProcess, count: number): Promise<void> {
  await until(`${count} state partitions are out of reach`, () => {
    return one.isthmus.status().destinations[0]?.stateOutages.length === count;
  });
}

async function untilRow(
  one: InProcess,
  topic: string,
  what: string,
  good: (row: DescribeRow) => boolean,
): Promise<DescribeRow> {
  let last: DescribeRow | undefined;
  try {
    return await until(
      `${topic} ${what}`,
      async () => {
        last = await rowOf(one, topic);
        return last !== undefined && good(last) && last;
      },
      { everyMs: 100 },
    );
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${JSON.stringify(last)}`, { cause: error });
  }
}

test('one state partition is away: what lives elsewhere goes on, is failed over and is written to', async () => {
  const { yaml, port } = await yamlFor(STATE);
  const first = await isthmus(yaml, port);
  const holders = await brokersOf(STATE);
  expect(new Set(holders).size).toBe(3);
  const away = 2;
  const topics = {
    stopped: topicIn(1, 'stopped'),
    live: topicIn(1, 'live'),
    later: topicIn(0, 'later'),
    awayStopped: topicIn(away, 'away-stopped'),
    awayLive: topicIn(away, 'away-live'),
  };
  const east = connect(source);
  for (const topic of Object.values(topics)) {
    await sourceTopics.create(topic, 1);
    await until('the source takes records', async () => (await append(east, topic, 10)) === 0);
  }
  await first.done('create', {
    mirror: 'm',
    topics: Object.values(topics),
    options: { source: 'east', start: true },
  });
  await first.untilCaughtUp('m');
  await first.done('failover', { mirror: 'm', topics: [topics.stopped, topics.awayStopped] });
  for (const topic of [topics.stopped, topics.awayStopped]) {
    await untilRow(first, topic, 'is failed over', ({ state }) => state === 'STOPPED');
  }
  const west = connect(`127.0.0.1:${port}`);
  await until('a local producer', async () => (await append(west, topics.awayStopped, 1)) === 0);

  const state = await reader(STATE);
  await kafka.kill(holders[away] as number);
  const lostAt = Date.now();
  const named = new RegExp(`partition ${away} of the state topic ${STATE} on west is out of reach`);
  await untilRow(first, topics.awayLive, 'shows why', ({ errorMessage }) => named.test(errorMessage ?? ''));
  for (const topic of [topics.live, topics.awayLive]) {
    await until('more at the source', async () => (await append(east, topic, 5)) === 0);
  }
  await untilRow(first, topics.live, 'goes on', ({ lag, destinationOffset, error }) => {
    return lag === 0 && destinationOffset === 15 && error === null;
  });
  // what was STOPPED is written to where its state is known, and refused for now where it is not
  await until('a local producer elsewhere', async () => (await append(west, topics.stopped, 1)) === 0);
  expect(await append(west, topics.awayStopped, 1)).toBe(6);
  // the coordinators that the lost broker had are with the others within its session time
  await until('state partitions 0 and 1 are written to again', () => {
    const { owners, partitions } = state.view;
    return (owners.get(0)?.at ?? 0) > lostAt && partitions.get(`${topics.live}/0`)?.persistedEnd === 15;
  });
  const failover = await first.ask('failover', { mirror: 'm', topics: [topics.live, topics.awayLive] });
  const errors = new Map(failover.topics?.map(({ topic, error }) => [topic, error?.message]));
  expect(failover.error?.message).toBeUndefined();
  expect(errors.get(topics.live)).toBeUndefined();
  expect(errors.get(topics.awayLive)).toMatch(named);
  await untilRow(first, topics.live, 'is failed over', ({ state }) => state === 'STOPPED');
  await first.stop();

  // a process that begins while it is away
  const second = await isthmus(yaml, port);
  const unread = await untilRow(second, topics.awayLive, 'is shown', ({ error }) => error !== null);
  expect(unread.state).toBe('UNKNOWN');
  expect(unread.errorMessage).toMatch(named);
  const again = connect(`127.0.0.1:${port}`);
  await until('a local producer', async () => (await append(again, topics.live, 1)) === 0);
  expect(await append(again, topics.awayStopped, 1)).toBe(6);
  await until('more at the source', async () => (await append(east, topics.later, 5)) === 0);
  await untilRow(second, topics.later, 'goes on', ({ lag, destinationOffset, error }) => {
    return lag === 0 && destinationOffset === 15 && error === null;
  });

  await kafka.start(holders[away] as number);
  await untilRow(second, topics.awayLive, 'has caught up', ({ lag, destinationOffset, error }) => {
    return lag === 0 && destinationOffset === 15 && error === null;
  });
  await until('its STOPPED topic is written to again', async () => {
    return (await append(again, topics.awayStopped, 1)) === 0;
  });
  await second.done('failover', { mirror: 'm', topics: [topics.awayLive] });
  await untilRow(second, topics.awayLive, 'is failed over', ({ state }) => state === 'STOPPED');
}, 90_000);

test('state partition 0 is away: mirrors go on by their own leases, and verbs say what they need', async () => {
  const state = '__state-without-0';
  const { yaml, port } = await yamlFor(state);
  const one = await isthmus(yaml, port);
  const holders = await brokersOf(state);
  expect(new Set(holders).size).toBe(3);
  const topic = topicIn(1, 'beside');
  const east = connect(source);
  const more = async () => {
    await until('the source takes records', async () => (await append(east, topic, 10)) === 0);
  };
  await sourceTopics.create(topic, 1);
  await more();
  await one.done('create', { mirror: 'm', topics: [topic], options: { source: 'east', start: true } });
  await one.untilCaughtUp('m');

  await kafka.kill(holders[0] as number);
  const outage = `partition 0 of the state topic ${state} on west is out of reach`;
  await until('status names the state partition', () =>
    one.isthmus.status().destinations[0]?.mirrors[0]?.error?.includes(outage),
  );
  const refused = await until('a verb is refused', async () => {
    const answer = await one.ask('failover', { mirror: 'm', topics: [topic] });
    return answer.error?.message.includes('every verb needs') === true && answer.error;
  });
  expect(refused.message).toContain(outage);
  // by now its last write there is older than the lease
  await more();
  await untilRow(one, topic, 'goes on', ({ lag, destinationOffset, state: name }) => {
    return lag === 0 && destinationOffset === 20 && name === 'MIRRORING';
  });

  await kafka.start(holders[0] as number);
  await untilOutages(one, 0);
  await one.done('failover', { mirror: 'm', topics: [topic] });
  await untilRow(one, topic, 'is failed over', ({ state: name }) => name === 'STOPPED');
}, 90_000);

test('a transaction on a partition that loses its leader is not left open, and is done when that is back', async () => {
  const topic = topicIn(0, '__state-of-one-producer');
  const topics = new Topics(kafka.bootstrap);
  await topics.create(topic, 3);
  await topics.close();
  const holders = await brokersOf(topic);
  const cluster = connect(kafka.bootstrap);
  await cluster.refresh([topic]);
  let passed = 0;
  const troubles: string[] = [];
  const closing = new AbortController();
  const producer = new TransactionalProducer({
    cluster,
    topic,
    partition: 2,
    transactionalId: topic,
    signal: closing.signal,
    clock: () => ({ mono: performance.now() + passed, wall: Date.now() + passed }),
    onAgain: (why) => troubles.push(why),
  });
  const record = (key: string) => [[{ key, value: Buffer.from('v'), timestamp: 1n }]];
  await producer.init();
  await producer.commit(record('before'));
  await kafka.kill(holders[2] as number);
  const done = producer.commit(record('meanwhile'));
  done.catch(() => undefined);
  await until('it is inside the transaction', () => troubles.some((why) => why.startsWith('Produce of')));
  passed = 60_000;
  // aborted by ourselves: its abort waits for the partition's marker, or what comes after it for the leader
  const inside = troubles.length;
  await until('it has given that transaction up', () => {
    const later = troubles.slice(inside);
    const waits = later.filter((why) => why.endsWith('the partition has no leader'));
    return later.some((why) => why.startsWith('InitProducerId of')) || waits.length > 1;
  });
  await kafka.start(holders[2] as number);
  const { lastOffset } = await done;
  const after = await producer.commit(record('after'));
  expect(after.lastOffset).toBeGreaterThan(lastOffset);
  closing.abort();
}, 90_000);
