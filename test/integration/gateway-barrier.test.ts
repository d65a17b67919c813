import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readBarrier } from '../../protocol/records/barrier.ts';
import { barrierId } from '../../protocol/records/ids.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { fetchApi, writeTxnMarkersApi } from '../../protocol/schema/index.ts';
import type { Gateway } from '../../src/gateway/index.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { BrokerConnection } from '../../src/net/connection.ts';
import { StubMirrorRole, StubView } from '../fake-broker/support/stub-control.ts';
import { startStubGateway } from '../fake-broker/support/stub-gateway.ts';
import { runJava } from '../harness/java.ts';
import { runPython } from '../harness/python.ts';
import { until } from '../harness/until.ts';

// A partition of mirrored records, a barrier and local records, read through a gateway by foreign libraries: none of them
// knows control type 7, all must step over it. The same gateway kind, as `role: mirror`, takes a Java producer as copier.
const { kafka39: kafka } = inject('clusters');
const TOPIC = 'gateway-barrier';
const COPY = 'gateway-external-copy';
const SOURCE = 'east-cluster-id-000000';
const direct = ['--bootstrap', kafka.bootstrap];

let cluster: Cluster;
let gateway: Gateway;
let copierGateway: Gateway;
let via: string[];
const mirrorRole = new StubMirrorRole();
const view = new StubView()
  .mirrored(TOPIC, { stopped: 'all' })
  .mirrored(COPY)
  .barrier(TOPIC, 0, { offset: 20, generation: 1, sourceClusterId: SOURCE });

async function start(role: 'client' | 'mirror'): Promise<Gateway> {
  const mirror = role === 'mirror' ? 'east-to-west' : null;
  return await startStubGateway(cluster, { config: { name: role, role, mirror }, view, mirrorRole });
}

beforeAll(async () => {
  for (const topic of [TOPIC, COPY])
    await runJava('3.9.1', 'AdminTool.java', ['create', ...direct, '--topic', topic]);
  cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': kafka.bootstrap } });
  await cluster.connect();
  await until(`${TOPIC} has a leader`, async () => {
    await cluster.refresh([TOPIC]);
    return (cluster.leaderOf(TOPIC, 0)?.nodeId ?? -1) >= 0;
  });
  gateway = await start('client');
  copierGateway = await start('mirror');
  via = ['--bootstrap', `127.0.0.1:${gateway.addresses.bootstrap.port}`];
  const write = ['Produce.java', [...direct, '--topic', TOPIC, '--count', '20', '--codec', 'gzip']] as const;
  await runJava('3.9.1', ...write);
  const leader = cluster.leaderOf(TOPIC, 0);
  const connection = await cluster.connection(leader?.nodeId ?? -1, 'test');
  await connection.call(writeTxnMarkersApi, {
    markers: [
      {
        producerId: barrierId(SOURCE),
        producerEpoch: 0,
        transactionResult: true,
        topics: [{ name: TOPIC, partitionIndexes: [0] }],
        coordinatorEpoch: 1,
      },
    ],
  });
  await runJava('3.9.1', ...write);
});

afterAll(async () => {
  await gateway?.close();
  await copierGateway?.close();
  await cluster?.close();
});

test('a bare Fetch through the gateway shows the barrier as MIRROR_PID_RESET', async () => {
  const { port } = gateway.addresses.bootstrap;
  const connection = await BrokerConnection.connect({ host: '127.0.0.1', port, clientId: 'bare' });
  const answer = await connection.call(
    fetchApi,
    {
      maxWaitMs: 500,
      minBytes: 1,
      topics: [
        { topic: TOPIC, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000 }] },
      ],
    },
    { maxVersion: 12 },
  );
  connection.end('local-close');
  const records = answer.responses[0]?.partitions[0]?.records ?? Buffer.alloc(0);
  const barriers: unknown[] = [];
  walkBatches(records, 0, records.length, (at) => {
    const barrier = readBarrier(records, at);
    if (barrier !== undefined) barriers.push(barrier);
  });
  expect(barriers).toMatchObject([{ offset: 20, generation: 1, sourceClusterId: SOURCE, form: 'type-7' }]);
});

describe.each(['read_committed', 'read_uncommitted'])('readers through the gateway, %s', (isolation) => {
  const args = ['--topic', TOPIC, '--isolation', isolation];

  const expectWhole = (lines: readonly string[], truth: readonly string[]): void => {
    const pick = (line: string): unknown => {
      const { partition, records, sha256 } = JSON.parse(line) as Record<string, unknown>;
      return { partition, records, sha256 };
    };
    expect(lines.map(pick)).toEqual(truth.map(pick));
    expect(pick(lines[0] ?? '{}')).toMatchObject({ records: 40 });
  };

  test('Java of both releases, librdkafka and kafka-python step over it and see all records', async () => {
    const truth = await runJava('3.9.1', 'ReadAll.java', [...direct, ...args]);
    for (const version of ['3.9.1', '4.4.0'] as const) {
      expectWhole(await runJava(version, 'ReadAll.java', [...via, ...args]), truth);
    }
    for (const library of ['confluent', 'kafka-python']) {
      expectWhole(await runPython('read_all.py', [library, ...via, ...args, '--to', '0:41']), truth);
    }
  });
});

test('an idempotent Java producer copies through a role: mirror gateway: mapped ids, exact offsets', async () => {
  const { port } = copierGateway.addresses.bootstrap;
  const copier = [
    '--bootstrap',
    `127.0.0.1:${port}`,
    '--topic',
    COPY,
    '--mode',
    'idempotent',
    '--count',
    '500',
  ];
  await runJava('3.9.1', 'Produce.java', [...copier, '--codec', 'lz4']);
  expect(mirrorRole.failures).toEqual([]);
  expect(mirrorRole.ends.get(`${COPY}/0`)).toBe(500);
  const producers = await runJava('3.9.1', 'AdminTool.java', ['producers', ...direct, '--topic', COPY]);
  expect(producers).toEqual([]);
  const read = ['--topic', COPY, '--isolation', 'read_committed'];
  const [seen] = await runJava('3.9.1', 'ReadAll.java', [...direct, ...read]);
  expect(JSON.parse(seen ?? '{}')).toMatchObject({ begin: 0, end: 500, records: 500 });
});
