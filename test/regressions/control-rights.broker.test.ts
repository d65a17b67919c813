import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from '../harness/free-port.ts';
import { runJava, runKafkaTool } from '../harness/java.ts';
import { type KafkaCluster, startCluster } from '../harness/kafka-cluster.ts';
import { tempDir } from '../harness/temp-dir.ts';
import { InProcess, gatewayPorts, yamlOf } from '../integration/support/isthmus-in-process.ts';

// Rights as a broker with an authorizer gives them: the caller's own decide about verbs, ours about appends, and a
// missing one is told with a command that grants it as it stands (`--operation CLUSTER_ACTION` was none).
const { kafka44: source } = inject('clusters');
const dir = tempDir('acls');
const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
let destination: KafkaCluster;
let internalPort = 0;
const running: InProcess[] = [];

beforeAll(async () => {
  internalPort = await freePort();
  const jaas = `${PLAIN} username="broker" password="broker-word" user_broker="broker-word";`;
  destination = await startCluster({
    version: '4.4.0',
    properties: ({ port, controllerPort }) => ({
      listeners: `PLAINTEXT://127.0.0.1:${port},INTERNAL://127.0.0.1:${internalPort},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},INTERNAL://127.0.0.1:${internalPort}`,
      'listener.security.protocol.map':
        'PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT',
      'inter.broker.listener.name': 'INTERNAL',
      'sasl.enabled.mechanisms': 'PLAIN',
      'sasl.mechanism.inter.broker.protocol': 'PLAIN',
      'sasl.mechanism.controller.protocol': 'PLAIN',
      'listener.name.internal.plain.sasl.jaas.config': jaas,
      'listener.name.controller.plain.sasl.jaas.config': jaas,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:broker',
      'allow.everyone.if.no.acl.found': 'false',
    }),
  });
  writeFileSync(
    join(dir.path, 'admin.properties'),
    `security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} username="broker" password="broker-word";\n`,
  );
  await allow('--topic', '*', '--operation', 'All');
  await allow('--transactional-id', '*', '--operation', 'All');
  await allow('--cluster', '--operation', 'Describe', '--operation', 'Create');
}, 120_000);

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
  await destination?.destroy();
  dir.remove();
});

async function acls(...args: readonly string[]): Promise<void> {
  await runKafkaTool('4.4.0', 'org.apache.kafka.tools.AclCommand', [
    '--bootstrap-server',
    `127.0.0.1:${internalPort}`,
    '--command-config',
    join(dir.path, 'admin.properties'),
    ...args,
  ]);
}

const allow = (...args: readonly string[]) => acls('--add', '--allow-principal', 'User:ANONYMOUS', ...args);

/** Runs the command that a message advises, as it stands but for the placeholders. */
async function follow(advice: string): Promise<void> {
  const command = /kafka-acls --bootstrap-server HOST:PORT (.*?)(?:$|;| \(| or )/.exec(advice)?.[1];
  if (command === undefined) throw new Error(`no command in: ${advice}`);
  const args = command.replace('User:NAME', 'User:ANONYMOUS').replaceAll("'", '').split(' ');
  await acls(...args.filter((word) => word !== ''));
}

test('verbs need the rights of the caller, appends our own; each advised command grants what is missing', {
  timeout: 240_000,
}, async () => {
  const topic = 'control-rights';
  await runJava('4.4.0', 'AdminTool.java', [
    'create',
    '--bootstrap',
    source.bootstrap,
    '--topic',
    topic,
    '--partitions',
    '1',
  ]);
  await runJava('4.4.0', 'Produce.java', [
    '--bootstrap',
    source.bootstrap,
    '--topic',
    topic,
    '--count',
    '300',
    '--mode',
    'transactional',
    '--abort-every',
    '2',
  ]);
  const ports = await gatewayPorts();
  const one = new InProcess(
    yamlOf({
      source: source.bootstrap,
      destination: destination.bootstrap,
      ports,
      stateTopic: '__control-rights',
      mirrors: `\n  - { name: file, source: east, destination: west, topics: { include: [${topic}] } }`,
    }),
    ports,
  );
  running.push(one);
  await one.start();

  // the mirror of the file runs with our own rights, and lacks the one for markers
  const [failed] = await one.untilRows('file', 'says which right it lacks', ({ errorMessage }) =>
    /kafka-acls/.test(errorMessage ?? ''),
  );
  expect(failed?.errorMessage).toMatch(/ClusterAction --cluster/);

  // a caller without ALTER on the cluster changes nothing
  const refused = await one.ask('create', { mirror: 'm', options: { source: 'east' } });
  expect(refused.error).toMatchObject({ code: 144 });
  expect((await one.ask('delete', { mirror: 'file' })).error).toMatchObject({ code: 144 });
  expect((await one.ask('failover', { mirror: 'file', all: true })).error).toMatchObject({ code: 144 });
  expect((await one.done('list')).list).toHaveLength(1);

  await follow(failed?.errorMessage ?? '');
  await one.untilCaughtUp('file');

  await follow(refused.error?.message ?? '');
  await one.done('create', { mirror: 'm', options: { source: 'east' } });
  await one.done('delete', { mirror: 'm' });

  // ALTER_CONFIGS on the topic is the caller's too
  await acls('--add', '--deny-principal', 'User:ANONYMOUS', '--operation', 'AlterConfigs', '--topic', topic);
  const stop = await one.ask('failover', { mirror: 'file', all: true });
  expect(stop.error).toMatchObject({ code: 29, message: expect.stringMatching(/AlterConfigs --topic/) });
  await acls(
    '--remove',
    '--force',
    '--deny-principal',
    'User:ANONYMOUS',
    '--operation',
    'AlterConfigs',
    '--topic',
    topic,
  );
  await one.done('failover', { mirror: 'file', all: true });
  await one.untilState('file', 'STOPPED');
});
