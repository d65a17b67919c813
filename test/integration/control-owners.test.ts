import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { runJava } from '../harness/java.ts';
import { until } from '../harness/until.ts';
import { InProcess, gatewayPorts, yamlOf } from './support/isthmus-in-process.ts';
import { Topics } from './support/topics.ts';

// Who may append to a destination: the newest instance, or the copier that a mirror names.
const { kafka44: source, kafka39: destination } = inject('clusters');
const sourceTopics = new Topics(source.bootstrap);
const from = ['--bootstrap', source.bootstrap];
const to = ['--bootstrap', destination.bootstrap];
const running: InProcess[] = [];
let names = 0;

afterAll(() => sourceTopics.close());
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

async function started(
  stateTopic: string,
  mirrors: string,
  gateways = '',
  [east, west] = [source.bootstrap, destination.bootstrap],
): Promise<InProcess> {
  const ports = await gatewayPorts();
  const yaml = yamlOf({
    source: east,
    destination: west,
    ports,
    stateTopic,
    mirrors,
    gateways,
  });
  const one = new InProcess(yaml, ports);
  running.push(one);
  return one.start();
}

async function newTopic(count: number): Promise<string> {
  names += 1;
  const topic = `owners-${names}`;
  await sourceTopics.create(topic, 1);
  if (count > 0) await produce(from, topic, count);
  return topic;
}

async function produce(at: readonly string[], topic: string, count: number): Promise<void> {
  await runJava('4.4.0', 'Produce.java', [...at, '--topic', topic, '--count', String(count)]);
}

async function digest(at: readonly string[], topic: string): Promise<unknown> {
  const [line] = await runJava('4.4.0', 'ReadAll.java', [
    ...at,
    '--topic',
    topic,
    '--isolation',
    'read_committed',
  ]);
  const { records, sha256 } = JSON.parse(line ?? '{}') as { records: number; sha256: string };
  return { records, sha256 };
}

test('a second instance takes the destination over; the first ends and appends nothing more', async () => {
  const topic = await newTopic(200);
  const entry = `\n  - { name: m, source: east, destination: west, topics: { include: [${topic}] } }`;
  const first = await started('__owners_state_1', entry);
  await first.untilCaughtUp('m');

  const second = await started('__owners_state_1', entry);
  expect(await first.isthmus.ended).toMatch(/another|newer|fenced/i);
  expect(first.isthmus.status().destinations[0]?.fenced).toBe(true);
  await produce(from, topic, 100);
  const [row] = await second.untilRows(
    'm',
    'is caught up with what came later',
    ({ state, lag, destinationOffset }) => state === 'MIRRORING' && lag === 0 && destinationOffset === 300,
  );
  // the first did not write its end down, so the second settled it
  expect(row).toMatchObject({ settledBy: 'probe', errorMessage: null });
  await first.stop();
  expect(await digest(to, topic)).toEqual(await digest(from, topic));
});

test('a foreign copier writes through a mirror-role gateway; its ids are mapped, and stop puts a barrier', async () => {
  const topic = await newTopic(0);
  const copier = await gatewayPorts();
  const gateway = `  - name: copier
    cluster: west
    role: mirror
    mirror: m
    bind: 127.0.0.1:${copier.gateway}
    nodeIds: 1
    brokerPorts: ${copier.broker}
`;
  const entry = `\n  - { name: m, source: east, destination: west, copier: external, topics: { include: [${topic}] } }`;
  const one = await started('__owners_state_2', entry, gateway);
  await one.untilState('m', 'MIRRORING');

  await produce(['--bootstrap', `127.0.0.1:${copier.gateway}`], topic, 150);
  await one.untilRows('m', 'has what the copier wrote', ({ destinationOffset }) => destinationOffset === 150);
  // brokers keep no producer entries for mapped ids
  expect(await runJava('4.4.0', 'AdminTool.java', ['producers', ...to, '--topic', topic])).toEqual([]);
  await expect(
    produce(['--bootstrap', `127.0.0.1:${[...one.isthmus.gateways.values()][0]?.port}`], topic, 1),
  ).rejects.toThrow(/mirror m/);

  await one.done('stop', { mirror: 'm', all: true });
  const [stopped] = await one.untilState('m', 'STOPPED');
  expect(stopped).toMatchObject({ barrierOffset: 150, lastMirroredOffset: 149 });
  await until('the settings are given back', async () => !(await one.rows('m'))[0]?.configsPending);
});

test('a topic is not mirrored back to where it comes from', async () => {
  const topic = await newTopic(5);
  const entry = `\n  - { name: m, source: east, destination: west, topics: { include: [${topic}] } }`;
  const there = await started('__owners_state_3', entry);
  await there.untilCaughtUp('m');

  // the same pair the other way round: its source is the cluster that mirrors the topic from here
  const back = await started('__owners_state_3', '[]', '', [destination.bootstrap, source.bootstrap]);
  await back.done('create', { mirror: 'back', options: { source: 'east' } });
  const answer = await back.ask('start', { mirror: 'back', topics: [topic] });
  expect(answer.error?.message).toMatch(/Detected mirror loop/);
  expect(await back.rows('back')).toEqual([]);
});
