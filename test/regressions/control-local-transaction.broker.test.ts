import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { KafkaClusterAdmin } from '../../src/control/cluster-admin.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { runJava, runKafkaTool, startJava } from '../harness/java.ts';
import type { KafkaVersion } from '../harness/kafka-home.ts';
import { until } from '../harness/until.ts';
import { InProcess, gatewayPorts, yamlOf } from '../integration/support/isthmus-in-process.ts';

// Own fault, found by reading: a local transaction that was open on an empty topic (its partition added to it, no record
// sent yet) when a mirror took the topic over. Its coordinator's marker then stood in the mirror. What Java producers
// leave behind is shown here on both releases; a 3.9 client adds partitions before it sends, against any broker.
const { kafka44, kafka39 } = inject('clusters');
const releases = [
  { release: '3.9.1', destination: kafka39, source: kafka44 },
  { release: '4.4.0', destination: kafka44, source: kafka39 },
] as const;
const running: InProcess[] = [];
const clusters: Cluster[] = [];

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
  for (const cluster of clusters) await cluster.close();
});

const admins = new Map<string, KafkaClusterAdmin>();
beforeAll(() => {
  for (const { release, destination } of releases) {
    const cluster = new Cluster({
      name: release,
      properties: { 'bootstrap.servers': destination.bootstrap },
    });
    clusters.push(cluster);
    admins.set(release, new KafkaClusterAdmin(cluster));
  }
});

async function start(which: (typeof releases)[number], name: string): Promise<InProcess> {
  const ports = await gatewayPorts();
  const yaml = yamlOf({
    source: which.source.bootstrap,
    destination: which.destination.bootstrap,
    ports,
    stateTopic: `__${name}`,
  });
  const one = new InProcess(yaml, ports);
  running.push(one);
  return one.start();
}

/** Runs a command of `kafka-transactions.sh` that a message advises, as it stands. */
async function follow(release: KafkaVersion, text: string, command: string): Promise<string[]> {
  const advised = new RegExp(`kafka-transactions\\.sh (--bootstrap-server \\S+ ${command} \\S+ '[^']+')`);
  const words = (advised.exec(text)?.[1] ?? '').replaceAll("'", '').split(' ');
  return runKafkaTool(release, 'org.apache.kafka.tools.TransactionsCommand', words);
}

const createTopic = (bootstrap: string, topic: string) =>
  runJava('4.4.0', 'AdminTool.java', [
    'create',
    '--bootstrap',
    bootstrap,
    '--topic',
    topic,
    '--partitions',
    '1',
  ]);

test.each(releases)(
  '$release: a transaction without data on an empty topic is found and refused',
  async (which) => {
    const { release, destination, source } = which;
    const topic = `local-txn-empty-${release}`;
    const admin = admins.get(release) as KafkaClusterAdmin;
    await createTopic(source.bootstrap, topic);
    await createTopic(destination.bootstrap, topic);
    const id = `teller-${topic}`;
    const at = ['--bootstrap', destination.bootstrap, '--topic', topic, '--transactional-id', id];
    const producer = startJava('3.9.1', 'OpenTxn.java', [...at, '--unsent', 'true', '--count', '1']);
    try {
      await until('the partition has joined the transaction', async () => {
        const { byTopic } = await admin.localTransactions();
        return byTopic.get(topic)?.[0]?.partitions[0] === 0;
      });
      await admin.describeTopic(topic);
      expect((await admin.bounds(topic, 1))[0]).toMatchObject({ start: 0, end: 0 });

      const one = await start(which, topic);
      const answer = await one.ask('create', {
        mirror: topic,
        topics: [topic],
        options: { source: 'east', start: true },
      });
      const text = JSON.stringify(answer);
      expect(text).toContain(`transactional id '${id}' (Ongoing`);
      expect(text).toMatch(/kafka-transactions\.sh --bootstrap-server \S+ describe --transactional-id/);
      const owned = await admin.topicConfigs(topic);
      expect(owned.filter(({ isTopicOverride }) => isTopicOverride)).toEqual([]);

      // the commands that are advised are ones that there are: one shows the partition, one ends the transaction
      const shown = await follow(release, text, 'describe');
      expect(shown.join('\n')).toContain(`${topic}-0`);
      if (release === '4.4.0') await follow(release, text, 'forceTerminateTransaction');
    } finally {
      producer.stdin.write('abort\n');
      await producer.ended;
    }
    // what would have stood in the mirror
    await until('the marker is there', async () => (await admin.bounds(topic, 1))[0]?.end === 1);
  },
);

test.each(releases)('$release: one with data in a mirror topic is named in the failure', async (which) => {
  const { release, destination, source } = which;
  const topic = `local-txn-data-${release}`;
  await createTopic(source.bootstrap, topic);
  await runJava('4.4.0', 'Produce.java', [
    '--bootstrap',
    source.bootstrap,
    '--topic',
    topic,
    '--count',
    '50',
  ]);
  const one = await start(which, topic);
  await one.done('create', { mirror: topic, topics: [topic], options: { source: 'east', start: true } });
  await one.untilCaughtUp(topic);
  const id = `teller-${topic}`;
  // past the gateway, straight at the broker
  const at = ['--bootstrap', destination.bootstrap, '--topic', topic, '--transactional-id', id];
  const producer = startJava(release, 'OpenTxn.java', [...at, '--count', '3']);
  try {
    const [row] = await one.untilState(topic, 'FAILED');
    expect(row?.errorMessage).toContain(`transactional id '${id}' (Ongoing`);
    expect(row?.retryAttempt).toBe(-1);
  } finally {
    producer.stdin.write('abort\n');
    await producer.ended;
  }
});
