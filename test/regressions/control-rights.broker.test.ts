import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { runJava } from '../harness/java.ts';
import { repository } from '../harness/kafka-home.ts';
import { ended, spawnTracked } from '../harness/processes.ts';
import { tempDir } from '../harness/temp-dir.ts';
import { AuthorizerCluster } from '../integration/support/authorizer-cluster.ts';
import { InProcess, type Ports, gatewayPorts, yamlOf } from '../integration/support/isthmus-in-process.ts';

// Rights as a broker with an authorizer gives them: the caller's own decide about verbs, ours about appends, and a
// missing one is told with a command that grants it as it stands (`--operation CLUSTER_ACTION` was none).
const { kafka44: source } = inject('clusters');
const topic = 'control-rights';
const stateTopic = '__control-rights';
const dir = tempDir('rights');
let secured: AuthorizerCluster;
let ports: Ports;
const running: InProcess[] = [];

// in this order: what `check` advises is what the mirror then runs with
beforeAll(async () => {
  secured = await AuthorizerCluster.start();
  ports = await gatewayPorts();
  const create = ['create', '--bootstrap', source.bootstrap, '--topic', topic, '--partitions', '1'];
  await runJava('4.4.0', 'AdminTool.java', create);
  writeFileSync(join(dir.path, 'isthmus.yaml'), yaml());
}, 120_000);

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
  await secured?.stop();
  dir.remove();
});

const acls = (...args: readonly string[]) => secured.acls(...args);
const follow = (advice: string) => secured.follow(advice);
const yaml = () =>
  yamlOf({
    source: source.bootstrap,
    destination: secured.cluster.bootstrap,
    ports,
    stateTopic,
    mirrors: `\n  - { name: file, source: east, destination: west, topics: { include: [${topic}] } }`,
  });

async function check(): Promise<{ code: number | null; out: string; err: string }> {
  const args = [
    join(repository, 'src', 'bin.ts'),
    'check',
    '-c',
    join(dir.path, 'isthmus.yaml'),
    '--connect',
  ];
  const child = spawnTracked(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('no pipes');
  const [out, err, { code }] = await Promise.all([text(stdout), text(stderr), ended(child)]);
  return { code, out, err };
}

test('check --connect names each right that is missing, with a command that grants it', {
  timeout: 120_000,
}, async () => {
  const { code, out, err } = await check();
  expect(code).toBe(1);
  expect(out).not.toMatch(/rights ok/);
  const advice = (pattern: RegExp): string =>
    err.split('\n').find((line) => pattern.test(line)) ?? `${pattern} is nowhere in: ${err}`;
  const markers = advice(/^cluster west: no right to write transaction markers.*Alter.*--cluster$/);
  expect(markers).toMatch(/^cluster west/);
  const granted = [
    advice(/^cluster west: CREATE, READ, WRITE,.* on topic __control-rights of west is missing.*kafka-acls/),
    advice(
      /^cluster west: WRITE on transactional id isthmus-state-__control-rights-0, isthmus-file is missing/,
    ),
    advice(/^mirror file: CREATE, READ, WRITE,.*ALTER_CONFIGS on topic control-rights of west is missing/),
    advice(/^mirror file: warning: who may write.*not known: no right to read the ACLs.*Describe --cluster$/),
  ];
  for (const command of granted) await follow(command);
  // nothing was made by looking
  const describe = ['describe', '--bootstrap', secured.cluster.bootstrap, '--topic', topic];
  await expect(runJava('4.4.0', 'AdminTool.java', describe)).rejects.toThrow(/UnknownTopicOrPartition/);
});

test('verbs need the rights of the caller, appends our own; each advised command grants what is missing', {
  timeout: 240_000,
}, async () => {
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
  const one = new InProcess(yaml(), ports);
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
  await one.untilRows('file', 'names who may write', (row) => row.directWriters?.join() === 'User:ANONYMOUS');

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

test('with all of them check says so, and who else may write past the gateway', {
  timeout: 120_000,
}, async () => {
  const others = ['--allow-principal', 'User:app', '--allow-principal', 'User:barred'];
  const denied = ['--deny-principal', 'User:barred', '--operation', 'Write'];
  await acls('--add', ...others, ...denied, '--topic', 'control-', '--resource-pattern-type', 'prefixed');
  const { code, out, err } = await check();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const lines = out.split('\n');
  expect(lines).toContain(
    `cluster west: rights ok: markers, state topic ${stateTopic}, transactional ids isthmus-*`,
  );
  expect(lines).toContain('mirror file: rights ok on 1 topic of east and west');
  expect(out).toMatch(
    /^mirror file: may write to control-rights past the gateway.*: User:ANONYMOUS, User:app$/m,
  );
  expect(out).toMatch(/^mirror file: control-rights: 1 partition, \d+ offsets; STOPPED already/m);
});
