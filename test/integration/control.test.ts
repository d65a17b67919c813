import { afterAll, afterEach, describe, expect, inject, test } from 'vitest';
import { createClusterMirrorApi } from '../../protocol/schema/94-create-cluster-mirror.ts';
import { startMirrorTopicsApi } from '../../protocol/schema/95-start-mirror-topics.ts';
import { stopMirrorTopicsApi } from '../../protocol/schema/96-stop-mirror-topics.ts';
import { listClusterMirrorsApi } from '../../protocol/schema/98-list-cluster-mirrors.ts';
import { describeClusterMirrorsApi } from '../../protocol/schema/99-describe-cluster-mirrors.ts';
import { deleteClusterMirrorApi } from '../../protocol/schema/104-delete-cluster-mirror.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { runJava } from '../harness/java.ts';
import { until } from '../harness/until.ts';
import { InProcess, gatewayPorts, yamlOf } from './support/isthmus-in-process.ts';
import { Topics } from './support/topics.ts';

// Source 4.4.0, destination 3.9.1, both shared: every test has its own topics and its own state topic.
const { kafka44: source, kafka39: destination } = inject('clusters');
const sourceTopics = new Topics(source.bootstrap);
const destinationTopics = new Topics(destination.bootstrap);
const from = ['--bootstrap', source.bootstrap];
const to = ['--bootstrap', destination.bootstrap];
let names = 0;
const running: InProcess[] = [];

afterAll(async () => {
  await Promise.all([sourceTopics.close(), destinationTopics.close()]);
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

function fresh(base: string): string {
  names += 1;
  return `control-${base}-${names}`;
}

async function started(
  more: { mirrors?: string; clusters?: string; stateTopic?: string } = {},
): Promise<InProcess> {
  const ports = await gatewayPorts();
  const yaml = yamlOf({
    source: source.bootstrap,
    destination: destination.bootstrap,
    ports,
    stateTopic: more.stateTopic ?? `__${fresh('state')}`,
    ...more,
  });
  const one = new InProcess(yaml, ports);
  running.push(one);
  return one.start();
}

async function produce(
  at: readonly string[],
  topic: string,
  partitions: number,
  count: number,
): Promise<void> {
  await runJava('4.4.0', 'Produce.java', [
    ...at,
    '--topic',
    topic,
    '--partitions',
    String(partitions),
    '--count',
    String(count),
  ]);
}

test('create, start, mirror, stop by our own verbs; settings kept and given back; delete', async () => {
  const topic = fresh('orders');
  await sourceTopics.create(topic, 2, { 'retention.ms': '3600000', 'max.message.bytes': '2000000' });
  await produce(from, topic, 2, 1000);
  const one = await started();

  await one.done('create', { mirror: 'm', options: { source: 'east' } });
  const plan = await one.done('start', { mirror: 'm', topics: [topic], dryRun: true });
  expect(plan.plan?.steps).toMatchObject([{ topic, partitions: 2, do: 'create topic and mirror it' }]);
  expect(await one.rows('m')).toEqual([]);
  await one.done('start', { mirror: 'm', topics: [topic] });
  const rows = await one.untilCaughtUp('m');
  expect(rows.reduce((sum, row) => sum + row.destinationOffset, 0)).toBe(1000);
  expect(await destinationTopics.configs(topic)).toMatchObject({
    'compression.type': 'producer',
    'message.timestamp.type': 'CreateTime',
    'message.timestamp.before.max.ms': '9223372036854775807',
    'message.timestamp.after.max.ms': '9223372036854775807',
    'max.message.bytes': '2000000',
    'retention.ms': '-1',
    'retention.bytes': '-1',
    'cleanup.policy': 'delete',
  });
  // again: nothing to do, no error
  await one.done('start', { mirror: 'm', topics: [topic] });
  const refusedDelete = await one.ask('delete', { mirror: 'm' });
  expect(refusedDelete.error?.code).toBe(ErrorCode.CLUSTER_MIRROR_NOT_EMPTY);

  await one.done('stop', { mirror: 'm', topics: ['/control-.*/'] });
  const stopped = await one.untilRows(
    'm',
    'is STOPPED with its settings given back',
    ({ state, configsPending }) => state === 'STOPPED' && !configsPending,
  );
  for (const row of stopped) {
    const mirrored = rows[row.partition]?.destinationOffset ?? -1;
    expect(row).toMatchObject({ lastMirroredOffset: mirrored - 1, barrierOffset: mirrored });
  }
  expect(await destinationTopics.configs(topic)).toEqual({
    'retention.ms': '3600000',
    'max.message.bytes': '2000000',
  });
  const { report } = await one.done('report', { mirror: 'm' });
  expect(report).toMatchObject([
    { partition: 0, difference: 0, cutTransactions: [], unverified: [], damage: [] },
    { partition: 1, difference: 0, cutTransactions: [], unverified: [], damage: [] },
  ]);
  await one.done('stop', { mirror: 'm', topics: [topic] });
  const again = await one.ask('start', { mirror: 'm', topics: [topic] });
  expect(again.error?.code).toBe(ErrorCode.INVALID_CLUSTER_MIRROR_STATES);
  expect(again.error?.message).toMatch(/rebuild/);

  const deleted = await one.done('delete', { mirror: 'm' });
  expect(deleted.plan?.notes.join()).toMatch(/failback/);
  expect((await one.done('list')).list).toEqual([]);
  // the topic is an ordinary one now, and its records stay
  await produce(['--bootstrap', `127.0.0.1:${[...one.isthmus.gateways.values()][0]?.port}`], topic, 2, 10);
});

describe('what is refused changes nothing', () => {
  test('at create: source unknown, unreachable, the destination itself, or secrets in the request', async () => {
    const one = await started({
      clusters: `  dead: { bootstrap.servers: "127.0.0.1:1" }\n  alias: { bootstrap.servers: "localhost:${destination.bootstrap.split(':')[1]}" }`,
    });
    const create = (options: Record<string, unknown>) => one.ask('create', { mirror: 'm', options });
    expect(await create({ source: 'nowhere' })).toMatchObject({
      ok: false,
      error: { name: 'INVALID_CONFIG', message: expect.stringMatching(/nowhere.*configured: east/) },
    });
    expect(await create({})).toMatchObject({ error: { name: 'INVALID_CONFIG' } });
    expect(await create({ source: 'dead' })).toMatchObject({
      error: { name: 'BROKER_NOT_AVAILABLE', message: expect.stringMatching(/dead.*127\.0\.0\.1:1/) },
    });
    expect(await create({ source: 'alias' })).toMatchObject({
      error: { name: 'INVALID_REQUEST', message: expect.stringMatching(/same cluster/) },
    });
    expect(await create({ source: 'west' })).toMatchObject({ error: { name: 'INVALID_REQUEST' } });
    const secret = { 'sasl.jaas.config': 'secret-word' };
    const refused = await create({ source: 'east', config: secret });
    expect(refused).toMatchObject({ error: { name: 'INVALID_CONFIG' } });
    expect(JSON.stringify(refused)).not.toContain('secret-word');
    expect((await one.done('list')).list).toEqual([]);
    await one.done('create', { mirror: 'm', options: { config: { 'bootstrap.servers': source.bootstrap } } });
    expect(await create({ source: 'east' })).toMatchObject({ error: { code: 136 } });
  });

  test('at start: foreign records, other partition count, another mirror, internal and unknown names', async () => {
    const [full, wide, taken, fine] = [fresh('full'), fresh('wide'), fresh('taken'), fresh('fine')];
    for (const topic of [full, wide, taken, fine]) await sourceTopics.create(topic, 1);
    await destinationTopics.create(full, 1);
    await produce(to, full, 1, 5);
    await destinationTopics.create(wide, 3);
    await destinationTopics.create(fine, 1);
    const one = await started();
    await one.done('create', { mirror: 'm', options: { source: 'east' } });
    await one.done('create', { mirror: 'other', options: { source: 'east' } });
    await one.done('start', { mirror: 'other', topics: [taken] });

    const topics = [full, wide, taken, fine, '__consumer_offsets', 'nothing-here'];
    const answer = await one.ask('start', { mirror: 'm', topics });
    const errors = Object.fromEntries((answer.topics ?? []).map(({ topic, error }) => [topic, error]));
    expect(errors[full]).toMatchObject({
      name: 'TOPIC_ALREADY_EXISTS',
      message: expect.stringMatching(/0 to 4/),
    });
    expect(errors[wide]).toMatchObject({ name: 'INVALID_PARTITIONS' });
    expect(errors[taken]).toMatchObject({ code: 138 });
    expect(errors['__consumer_offsets']).toMatchObject({ name: 'INVALID_TOPIC_EXCEPTION' });
    expect(errors['nothing-here']).toMatchObject({ name: 'UNKNOWN_TOPIC_OR_PARTITION' });
    expect(errors[fine]).toBeUndefined();
    // the empty topic that stood there was taken over, the others were left alone
    await one.untilState('m', 'MIRRORING');
    expect((await one.rows('m')).map(({ topic }) => topic)).toEqual([fine]);
    expect((await destinationTopics.configs(fine))['retention.ms']).toBe('-1');
    expect(await destinationTopics.configs(full)).toEqual({});
    expect(await one.ask('stop', { mirror: 'm', topics: [taken] })).toMatchObject({ error: { code: 139 } });
    expect(await one.ask('stop', { mirror: 'm', topics: [full] })).toMatchObject({ error: { code: 137 } });
    expect(await one.ask('stop', { mirror: 'm', topics: ['nothing-here'] })).toMatchObject({
      error: { code: 3 },
    });
  });

  test('unknown, empty and null names, and verbs that come later', async () => {
    const one = await started();
    expect(await one.ask('start', { mirror: 'nobody', topics: ['x'] })).toMatchObject({
      error: { code: 137 },
    });
    expect(await one.ask('describe', { mirror: 'nobody' })).toMatchObject({ error: { code: 137 } });
    expect(await one.ask('stop', { mirror: null, topics: ['x'] })).toMatchObject({ error: { code: 42 } });
    expect(await one.ask('stop', { mirror: 'm', topics: [''] })).toMatchObject({ error: { code: 42 } });
    expect(await one.ask('create', { mirror: 'a b', options: { source: 'east' } })).toMatchObject({
      error: { code: 42 },
    });
    for (const verb of ['pause', 'resume', 'recover', 'promote', 'reverse', 'rebuild', 'switch']) {
      expect((await one.ask(verb, { mirror: 'm' })).error?.message).toMatch(/comes later/);
    }
    expect((await one.ask('frobnicate')).error?.message).toMatch(/no verb/);
  });
});

test("KIP-1279's RPCs: create, start, list, describe, stop, delete", async () => {
  const topic = fresh('kip');
  await sourceTopics.create(topic, 1);
  await produce(from, topic, 1, 100);
  const one = await started();
  const connection = await one.connection();
  const config = [{ name: 'bootstrap.servers', value: source.bootstrap }];
  const create = () => connection.call(createClusterMirrorApi, { mirrorName: 'kip', config });
  expect(await create()).toMatchObject({ errorCode: 0 });
  expect(await create()).toMatchObject({ errorCode: 136 });
  const start = await connection.call(startMirrorTopicsApi, {
    mirrorName: 'kip',
    topics: [],
    includePatterns: [`${topic}.*`],
  });
  expect(start).toMatchObject({ errorCode: 0, topics: [{ name: topic, errorCode: 0 }] });
  await one.untilCaughtUp('kip');
  expect(await connection.call(listClusterMirrorsApi, { includeTopicNames: true })).toMatchObject({
    mirrors: [
      {
        mirrorName: 'kip',
        sourceBootstrap: source.bootstrap,
        sourceClusterId: source.clusterId,
        topicCount: 1,
        topicNames: [topic],
      },
    ],
  });
  const described = await connection.call(describeClusterMirrorsApi, { mirrorNames: ['kip', 'nobody'] });
  expect(described.mirrors).toMatchObject([
    {
      mirrorName: 'kip',
      errorCode: 0,
      topics: [
        {
          topicName: topic,
          partitions: [
            { partitionIndex: 0, sourceOffset: 100, destinationOffset: 100, lag: 0, stateValue: 'MIRRORING' },
          ],
        },
      ],
    },
    { mirrorName: 'nobody', errorCode: 137 },
  ]);
  const stop = await connection.call(stopMirrorTopicsApi, {
    mirrorName: 'kip',
    topics: [{ topicName: topic }],
  });
  expect(stop).toMatchObject({ errorCode: 0, topics: [{ name: topic, errorCode: 0 }] });
  await one.untilState('kip', 'STOPPED');
  expect(await connection.call(deleteClusterMirrorApi, { mirrorName: 'kip' })).toMatchObject({
    errorCode: 0,
  });
  expect(await connection.call(deleteClusterMirrorApi, { mirrorName: 'kip' })).toMatchObject({
    errorCode: 137,
  });
});

test('a mirror of the file is created once, its drift shown, and not created again after delete', async () => {
  const topic = fresh('yaml');
  const late = fresh('late');
  await sourceTopics.create(topic, 1);
  await produce(from, topic, 1, 50);
  const stateTopic = `__${fresh('state')}`;
  const mirrors = (include: string) =>
    `\n  - { name: file, source: east, destination: west, topics: { include: [${include}] } }`;
  const one = await started({ mirrors: mirrors(`${topic}, ${late}`), stateTopic });
  await one.untilCaughtUp('file');
  await until('the missing topic is named', () =>
    one.isthmus.status().destinations[0]?.mirrors[0]?.error?.includes(late),
  );
  await sourceTopics.create(late, 1);
  await one.untilRows('file', 'is MIRRORING, the late topic too', ({ state }) => state === 'MIRRORING');
  await until('the late topic is mirrored', async () => (await one.rows('file')).length === 2, {
    timeoutMs: 40_000,
  });
  await one.stop();

  const second = await started({ mirrors: mirrors(`${topic}, another`), stateTopic });
  const drift = () => second.isthmus.status().destinations[0]?.mirrors[0]?.drift ?? [];
  await until('the drift is told', () => drift().length > 0);
  expect(drift()).toEqual([
    'topics.include: only in the file: another',
    `topics.include: only in the state: ${late}`,
  ]);
  const rows = await second.untilCaughtUp('file');
  // a clean end wrote the exact ends down: nothing had to be probed
  expect(rows.map(({ settledBy }) => settledBy)).toEqual(['released', 'released']);
  await second.done('stop', { mirror: 'file', all: true });
  await second.untilState('file', 'STOPPED');
  await second.done('delete', { mirror: 'file' });
  await second.stop();

  const third = await started({ mirrors: mirrors(topic), stateTopic });
  // no new one is made, and whoever looks is told why
  expect(third.isthmus.status().destinations[0]?.mirrors).toMatchObject([
    {
      mirror: 'file',
      sourceClusterId: '',
      states: {},
      error: expect.stringMatching(/^the mirror was deleted/),
    },
  ]);
  expect(await third.ask('describe', { mirror: 'file' })).toMatchObject({ ok: false, error: { code: 137 } });
});

test('a settings drift is put right at the next start, and a foreign record behind our back is FAILED', async () => {
  const topic = fresh('drift');
  await sourceTopics.create(topic, 1);
  await produce(from, topic, 1, 20);
  const stateTopic = `__${fresh('state')}`;
  const one = await started({ stateTopic });
  await one.done('create', { mirror: 'm', topics: [topic], options: { source: 'east', start: true } });
  await one.untilCaughtUp('m');
  await one.stop();
  await runJava('4.4.0', 'Produce.java', [...to, '--topic', topic, '--count', '3']);

  const second = await started({ stateTopic });
  const [row] = await second.untilState('m', 'FAILED');
  expect(row).toMatchObject({ retryAttempt: -1 });
  expect(row?.errorMessage).toMatch(/20/);
  await second.done('stop', { mirror: 'm', all: true });
  await second.untilRows(
    'm',
    'is FAILED still and says what takes it as it is',
    ({ state, errorMessage }) => state === 'FAILED' && /--accept-damage/.test(errorMessage ?? ''),
  );
  await second.done('stop', { mirror: 'm', all: true, options: { acceptDamage: true } });
  const [stopped] = await second.untilState('m', 'STOPPED');
  expect(stopped).toMatchObject({ barrierOffset: 23 });
  const { report } = await second.done('report', { mirror: 'm' });
  expect(report?.[0]?.damage).toMatchObject([{ from: 20, to: 23 }]);
});
