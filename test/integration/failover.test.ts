import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { type VerbAnswer, askVerb } from '../../src/cli/gateway-client.ts';
import type { DescribeRow } from '../../src/control/index.ts';
import { BrokerConnection } from '../../src/net/connection.ts';
import { Isthmus } from '../harness/isthmus.ts';
import { runJava, startJava } from '../harness/java.ts';
import { type KafkaCluster, startCluster } from '../harness/kafka-cluster.ts';
import { until } from '../harness/until.ts';
import { gatewayPorts, yamlOf } from './support/isthmus-in-process.ts';
import { Topics } from './support/topics.ts';

// The source is each test's own, because it goes away; the destination is the shared 3.9.1.
const destination = inject('clusters').kafka39;
const to = ['--bootstrap', destination.bootstrap];
let source: KafkaCluster;
let names = 0;
const processes: Isthmus[] = [];

beforeEach(async () => {
  source = await startCluster({ version: '4.4.0' });
});
afterEach(async () => {
  for (const one of processes.splice(0)) await one.destroy();
  await source?.destroy();
});

interface Setting {
  readonly isthmus: Isthmus;
  readonly gateway: string;
  ask(verb: string, request?: Parameters<typeof askVerb>[1] | object): Promise<VerbAnswer>;
  untilRows(what: string, good: (row: DescribeRow) => boolean): Promise<DescribeRow[]>;
}

async function setting(mirrors = '[]'): Promise<Setting> {
  names += 1;
  const ports = await gatewayPorts();
  const config = yamlOf({
    source: source.bootstrap,
    destination: destination.bootstrap,
    ports,
    stateTopic: `__failover_state_${names}`,
    mirrors,
  });
  const isthmus = new Isthmus({ config });
  processes.push(isthmus);
  let connection: BrokerConnection | null = null;
  const ask = async (verb: string, request: object = {}): Promise<VerbAnswer> => {
    if (connection === null || !connection.isOpen) {
      connection = await BrokerConnection.connect({
        host: '127.0.0.1',
        port: ports.gateway,
        clientId: 'test',
      });
    }
    return askVerb(connection, { verb, ...request });
  };
  return {
    isthmus,
    gateway: `127.0.0.1:${ports.gateway}`,
    ask,
    async untilRows(what, good) {
      let last: DescribeRow[] = [];
      try {
        return await until(
          `every partition ${what}`,
          async () => {
            last = ((await ask('describe')).describe ?? []) as unknown as DescribeRow[];
            return last.length > 0 && last.every(good) && last;
          },
          { timeoutMs: 60_000, everyMs: 100 },
        );
      } catch (error) {
        const shown = JSON.stringify(last, null, 1);
        throw new Error(`${(error as Error).message}\n${shown}\n${isthmus.excerpt()}`, { cause: error });
      }
    },
  };
}

async function createTopic(topic: string, partitions: number): Promise<void> {
  const topics = new Topics(source.bootstrap);
  await topics.create(topic, partitions);
  await topics.close();
}

interface PartitionRead {
  readonly partition: number;
  readonly records: number;
  readonly sha256: string;
  readonly end: number;
}

async function readAll(bootstrap: string, topic: string, isolation: string): Promise<PartitionRead[]> {
  const args = ['--bootstrap', bootstrap, '--topic', topic, '--isolation', isolation];
  const lines = await runJava('4.4.0', 'ReadAll.java', args);
  return lines.map((line) => JSON.parse(line) as PartitionRead);
}

const mirroring = ({ state, lag, held }: DescribeRow) => state === 'MIRRORING' && lag - held === 0;
const stopped = ({ state, configsPending }: DescribeRow) => state === 'STOPPED' && !configsPending;

test('the source dies, Isthmus was killed: failover ends behind barriers and local writers go on', async () => {
  const topic = `failover-${++names}`;
  await createTopic(topic, 3);
  const { isthmus, gateway, ask, untilRows } = await setting(
    `\n  - { name: m, source: east, destination: west, topics: { include: [${topic}] } }`,
  );
  await isthmus.start();
  const at = ['--bootstrap', source.bootstrap, '--topic', topic, '--partitions', '3'];
  const writer = startJava('4.4.0', 'Produce.java', [
    ...at,
    '--until-stop',
    '--mode',
    'transactional',
    '--abort-every',
    '4',
  ]);
  await writer.line(/STARTED/);
  await untilRows('mirrors something', ({ destinationOffset }) => destinationOffset > 200);

  await isthmus.kill();
  await isthmus.start();
  await untilRows(
    'goes on after kill -9',
    ({ phase, settledBy }) => phase === 'mirroring' && settledBy === 'probe',
  );
  writer.stdin.end('stop\n');
  await writer.ended;
  const caughtUp = await untilRows('is caught up', mirroring);
  const truth = await readAll(source.bootstrap, topic, 'read_committed');
  await isthmus.kill();
  await source.stop();
  await isthmus.start();

  const refused = await ask('failover', { mirror: 'm', all: true, dryRun: true });
  expect(refused.ok).toBe(true);
  await ask('failover', { mirror: 'm', all: true });
  const rows = await untilRows('is STOPPED', stopped);
  const { report } = await ask('report', { mirror: 'm' });
  for (const { partition, destinationOffset } of caughtUp) {
    expect(rows[partition]).toMatchObject({
      lastMirroredOffset: destinationOffset - 1,
      barrierOffset: destinationOffset,
    });
    expect(report?.[partition]).toMatchObject({
      difference: 0,
      cutTransactions: [],
      damage: [],
      settledBy: 'probe',
    });
  }
  const digests = (reads: readonly PartitionRead[]) =>
    reads.map(({ records, sha256 }) => ({ records, sha256 }));
  const [committed, all] = await Promise.all(
    ['read_committed', 'read_uncommitted'].map((isolation) =>
      readAll(destination.bootstrap, topic, isolation),
    ),
  );
  expect(digests(committed ?? [])).toEqual(digests(truth));
  expect(digests(all ?? [])).toEqual(digests(truth));

  // local writers get the ids that the source gave out before: nothing of theirs may count as a duplicate
  const before = truth.reduce((sum, { records }) => sum + records, 0);
  const local = ['--bootstrap', gateway, '--topic', topic, '--partitions', '3', '--count', '300'];
  await runJava('4.4.0', 'Produce.java', [...local, '--mode', 'idempotent', '--producers', '5']);
  await runJava('4.4.0', 'Produce.java', [...local, '--mode', 'transactional', '--transactional-id', topic]);
  const after = await readAll(gateway, topic, 'read_committed');
  expect(after.reduce((sum, { records }) => sum + records, 0)).toBe(before + 600);
});

test('an open transaction at the source: its data is not there, failover does not wait for it', async () => {
  const topic = `failover-${++names}`;
  await createTopic(topic, 1);
  const { isthmus, ask, untilRows } = await setting(
    `\n  - { name: m, source: east, destination: west, topics: { include: [${topic}] } }`,
  );
  const at = ['--bootstrap', source.bootstrap, '--topic', topic];
  await runJava('4.4.0', 'Produce.java', [...at, '--count', '100']);
  const open = startJava('4.4.0', 'OpenTxn.java', [...at, '--count', '7']);
  await open.line(/READY/);
  await runJava('4.4.0', 'Produce.java', [...at, '--count', '10']);
  await isthmus.start();
  const rows = await untilRows(
    'has mirrored up to the LSO',
    ({ destinationOffset, state }) => destinationOffset === 100 && state === 'MIRRORING',
  );
  expect(rows[0]).toMatchObject({ sourceOffset: 117, held: 17, lag: 17, state: 'MIRRORING' });

  // without a restart and with the source gone
  await source.stop();
  await open.kill();
  await ask('failover', { mirror: 'm', all: true });
  await untilRows('is STOPPED', stopped);
  const { report } = await ask('report', { mirror: 'm' });
  expect(report?.[0]).toMatchObject({
    lastMirroredOffset: 99,
    barrierOffset: 100,
    sourceEnd: 117,
    difference: 17,
    cutTransactions: [],
    unverified: [],
  });
  expect(await readAll(to[1] ?? '', topic, 'read_uncommitted')).toMatchObject([{ records: 100 }]);
});
