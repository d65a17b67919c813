import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { flags } from '../harness/flags.ts';
import { freePort } from '../harness/free-port.ts';
import { Isthmus, runIsthmus } from '../harness/isthmus.ts';
import { runJava, startJava, type JavaProcess } from '../harness/java.ts';
import { runPython } from '../harness/python.ts';
import { until } from '../harness/until.ts';

// One mirrored topic, read by three foreign libraries in both isolation levels, at the destination's own port and through the
// gateway. The truth is what a read_committed Java consumer sees at the source. A transaction stays open all the time.
const { kafka44: source, kafka39: destination } = inject('clusters');
const TOPIC = 'foreign-readers';
const PARTITIONS = 3;

interface Seen {
  readonly partition: number;
  readonly end: number;
  readonly records: number;
  readonly sha256: string;
}

let isthmus: Isthmus;
let gateway: string;
let open: JavaProcess;
let truth: Seen[];

beforeAll(async () => {
  const topic = ['--bootstrap', source.bootstrap, '--topic', TOPIC, '--partitions', `${PARTITIONS}`];
  await runJava('4.4.0', 'AdminTool.java', ['create', ...topic]);
  const mixed = [...topic, '--codec', 'all'];
  const transactions = ['--mode', 'transactional', '--records-per-txn', '15', '--abort-every', '3'];
  await Promise.all([
    runJava('4.4.0', 'Produce.java', [...mixed, '--count', '1500', ...transactions, '--seed', '1']),
    runJava('3.9.1', 'Produce.java', [...mixed, '--count', '1500', '--mode', 'idempotent', '--seed', '2']),
  ]);
  const held = ['--bootstrap', source.bootstrap, '--topic', TOPIC, '--partition', '1', '--count', '7'];
  open = startJava('4.4.0', 'OpenTxn.java', [...held, '--transactional-id', 'held']);
  await open.line(/^READY/);
  const [bootstrapPort, brokerPort] = [await freePort(), await freePort()];
  gateway = `127.0.0.1:${bootstrapPort}`;
  isthmus = new Isthmus({
    config: `clusters:
  source: { bootstrap.servers: "${source.bootstrap}" }
  destination: { bootstrap.servers: "${destination.bootstrap}" }
gateways:
  - { name: gateway, cluster: destination, bind: "${gateway}", nodeIds: 1, brokerPorts: ${brokerPort} }
mirrors:
  - { name: readers, source: source, destination: destination, topics: { include: [${TOPIC}] } }
state: { topic: __mirror_state_readers, partitions: 2, replication.factor: 1 }
`,
  });
  await isthmus.start();
  const read = ['--bootstrap', source.bootstrap, '--topic', TOPIC, '--isolation', 'read_committed'];
  truth = (await runJava('4.4.0', 'ReadAll.java', read)).map((line) => JSON.parse(line) as Seen);
  await until(
    'the copy reaches the last stable offsets',
    async () => {
      const described = await runIsthmus([
        'mirror',
        'describe',
        'readers',
        '--bootstrap-server',
        gateway,
        '-o',
        'json',
      ]);
      const rows = JSON.parse(described.stdout) as { partition: number; destinationOffset: number }[];
      return truth.every((one) =>
        rows.some((row) => row.partition === one.partition && row.destinationOffset === one.end),
      );
    },
    { timeoutMs: 60_000 },
  );
});

afterAll(async () => {
  await open?.kill();
  await isthmus?.destroy();
});

test('the source has something to hide: aborted records and an open transaction', async () => {
  const read = ['--bootstrap', source.bootstrap, '--topic', TOPIC, '--isolation', 'read_uncommitted'];
  const all = (await runJava('4.4.0', 'ReadAll.java', read)).map((line) => JSON.parse(line) as Seen);
  const sum = (seen: readonly Seen[]): number => seen.reduce((total, { records }) => total + records, 0);
  expect(sum(all)).toBe(3_007);
  expect(sum(truth)).toBeLessThan(3_000 - 400);
});

const places = [
  ['directly', () => destination.bootstrap],
  ['through the gateway', () => gateway],
] as const;

describe.each(places)('the mirrored topic read %s', (_where, bootstrap) => {
  describe.each(['read_committed', 'read_uncommitted'] as const)('with %s', (isolation) => {
    const ends = (): string => truth.map(({ partition, end }) => `${partition}:${end}`).join(',');
    const args = (): string[] => flags({ bootstrap: bootstrap(), topic: TOPIC, isolation, to: ends() });

    test.each(['4.4.0', '3.9.1'] as const)('Java %s sees exactly the committed records', async (version) => {
      expectTruth(await runJava(version, 'ReadAll.java', args()));
    });

    test.each(['confluent', 'kafka-python'] as const)(
      '%s sees exactly the committed records',
      async (library) => {
        expectTruth(await runPython('read_all.py', [library, ...args()]));
      },
    );
  });
});

function expectTruth(lines: readonly string[]): void {
  const pick = ({ partition, records, sha256 }: Seen) => ({ partition, records, sha256 });
  expect(lines.map((line) => pick(JSON.parse(line) as Seen))).toEqual(truth.map(pick));
}
