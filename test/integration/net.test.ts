import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { buildBatch } from '../../protocol/records/build.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { fetchApi } from '../../protocol/schema/01-fetch.ts';
import { createTopicsApi } from '../../protocol/schema/19-create-topics.ts';
import { brokerAge } from '../../src/cli/broker-version.ts';
import { boundsOf } from '../../src/cli/offsets.ts';
import { Cluster, ClusterIdMismatchError } from '../../src/net/cluster.ts';
import { tempDir } from '../harness/temp-dir.ts';
import { until } from '../harness/until.ts';
import { runIsthmus } from '../harness/isthmus.ts';

const clusters = inject('clusters');
const open: Cluster[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((cluster) => cluster.close()));
});

function cluster(bootstrap: string, expectedClusterId?: string): Cluster {
  const made = new Cluster({
    name: 'real',
    properties: { 'bootstrap.servers': bootstrap },
    expectedClusterId,
  });
  open.push(made);
  return made;
}

async function newTopic(at: Cluster, name: string, partitions: number): Promise<void> {
  const connection = await at.anyConnection('admin');
  const answer = await connection.call(createTopicsApi, {
    topics: [{ name, numPartitions: partitions, replicationFactor: 1, assignments: [], configs: [] }],
    timeoutMs: 10_000,
  });
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  await until(`${name} has leaders`, async () => {
    await at.refresh([name]);
    return at.topic(name)?.partitions.filter(({ leader }) => leader >= 0).length === partitions;
  });
}

describe.each([
  ['4.4.0', clusters.kafka44, /metadata\.version/],
  ['3.9.1', clusters.kafka39, /^Kafka 3\.9 \(metadata\.version 21\)$/],
] as const)('our broker client against Kafka %s', (version, real, age) => {
  test('learns the cluster, its age and its coordinators', async () => {
    const at = cluster(real.bootstrap);
    expect(await at.connect()).toBe(real.clusterId);
    expect(at.brokers().map(({ nodeId }) => nodeId)).toEqual([1]);
    const connection = await at.anyConnection('age');
    expect(brokerAge(connection).text).toMatch(age);
    expect(brokerAge(connection)).toMatchObject({ enoughForSource: true, enoughForDestination: true });
    expect(await at.coordinator('transaction', 'net-test')).toBe(1);
    expect(await at.coordinator('group', 'net-test')).toBe(1);
  });

  test('a pinned id of another cluster is refused', async () => {
    await expect(cluster(real.bootstrap, 'AnotherClusterIdAltogether').connect()).rejects.toThrow(
      ClusterIdMismatchError,
    );
  });

  test('writes and reads a batch larger than one read of the socket', async () => {
    const topic = `net-${version}`;
    const at = cluster(real.bootstrap);
    await newTopic(at, topic, 2);
    const topicId = at.topic(topic)?.topicId ?? '';
    const leader = at.leaderOf(topic, 1);
    expect(leader).toMatchObject({ nodeId: 1, leaderEpoch: 0 });
    const connection = await at.connection(1, 'data');
    const records = buildBatch({ records: [{ value: Buffer.alloc(300_000, 7) }] });
    // a broker knows of its leadership a moment after Metadata tells it
    const produced = await until(`${topic}-1 takes a batch`, async () => {
      const answer = await connection.call(produceApi, {
        acks: -1,
        timeoutMs: 10_000,
        topicData: [{ name: topic, topicId, partitionData: [{ index: 1, records }] }],
      });
      const partition = answer.responses[0]?.partitionResponses[0];
      return partition?.errorCode === 6 ? undefined : partition;
    });
    expect(produced).toMatchObject({ errorCode: 0, baseOffset: 0 });
    const fetched = await connection.call(fetchApi, {
      maxWaitMs: 1_000,
      minBytes: 1,
      maxBytes: 1 << 24,
      topics: [
        { topic, topicId, partitions: [{ partition: 1, fetchOffset: 0, partitionMaxBytes: 1 << 24 }] },
      ],
      forgottenTopicsData: [],
    });
    expect(fetched.responses[0]?.partitions[0]).toMatchObject({ errorCode: 0, highWatermark: 1 });
    expect(fetched.responses[0]?.partitions[0]?.records?.length).toBe(records.length);
    expect(await boundsOf(at, topic, [0, 1])).toEqual(
      new Map([
        [0, { start: 0, end: 0 }],
        [1, { start: 0, end: 1 }],
      ]),
    );
    const { leaders, answered } = await at.leaderEpochFromAll([topic]);
    expect(answered).toEqual([1]);
    expect(leaders.get(topic)?.get(1)).toEqual({ nodeId: 1, leaderEpoch: 0 });
  });
});

test('dump of live partitions', async () => {
  const at = cluster(clusters.kafka44.bootstrap);
  await newTopic(at, 'net-dump', 1);
  const flags = ['dump', '--bootstrap-server', clusters.kafka44.bootstrap, '--topic'];
  const dumped = await runIsthmus([...flags, 'net-dump']);
  expect(dumped).toEqual({
    code: 0,
    stdout: 'net-dump-0: log start 0, high watermark 0\n',
    stderr: 'no batches\n',
  });
  const missing = await runIsthmus([...flags, 'net-none']);
  expect(missing).toMatchObject({ code: 1, stderr: 'topic net-none: UNKNOWN_TOPIC_OR_PARTITION\n' });
});

describe('check --connect', () => {
  const folder = tempDir('check');
  afterAll(() => folder.remove());

  const [host, port] = clusters.kafka44.bootstrap.split(':');
  const pipe = createServer((socket) => {
    const onward = connect({ host: host ?? '', port: Number(port) });
    socket.on('error', () => onward.destroy()).pipe(onward);
    onward.on('error', () => socket.destroy()).pipe(socket);
  });
  beforeAll(() => new Promise<void>((resolve) => pipe.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise<void>((resolve) => pipe.close(() => resolve())));

  async function check(mirror: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const { port: other } = pipe.address() as AddressInfo;
    const file = join(folder.path, 'check.yaml');
    writeFileSync(
      file,
      `clusters:
  a: { bootstrap.servers: "${clusters.kafka44.bootstrap}" }
  b: { bootstrap.servers: "${clusters.kafka39.bootstrap}" }
  again: { bootstrap.servers: "127.0.0.1:${other}" }
gateways: [ { name: g, cluster: b, bind: "127.0.0.1:1000", nodeIds: 1-3, brokerPorts: 1001-1003 } ]
mirrors: [ { name: m, ${mirror} } ]
state: { replication.factor: 1 }
`,
    );
    return runIsthmus(['check', '-c', file, '--connect']);
  }

  test('a mirror that can begin: its plan, and 0', async () => {
    await newTopic(cluster(clusters.kafka44.bootstrap), 'check-new', 3);
    const { code, stdout, stderr } = await check(
      'source: a, destination: b, topics: { include: [check-new] }',
    );
    // what the readers of brokers without rights are told, and nothing else
    expect(stderr).toBe(
      'mirror m: warning: anyone may write to its topics past the gateway, straight to b: it has no authorizer\n',
    );
    expect(stdout).toMatch(/cluster b: Kafka 3\.9 \(metadata\.version 21\), cluster id \S+, 1 broker/);
    expect(stdout).toContain('mirror m: check-new: 3 partitions, 0 offsets; will be created on b\n');
    expect(code).toBe(0);
  });

  test('a topic that is not there, and one that exists with other partitions', async () => {
    await newTopic(cluster(clusters.kafka44.bootstrap), 'check-there', 2);
    await newTopic(cluster(clusters.kafka39.bootstrap), 'check-there', 1);
    const { code, stderr } = await check(
      'source: a, destination: b, topics: { include: [check-none, check-there] }',
    );
    expect(stderr).toContain('mirror m: topic check-none does not exist on a\n');
    expect(stderr).toContain('check-there has 2 partitions on a and 1 on b; delete it there\n');
    expect(code).toBe(1);
  });

  test('one cluster under two addresses is found by its id', async () => {
    const { code, stderr } = await check('source: a, destination: again, topics: { include: [/check-.*/] }');
    expect(stderr).toContain(
      `mirror m: a and again are the same cluster (cluster id ${clusters.kafka44.clusterId})\n`,
    );
    expect(code).toBe(1);
  });
});
