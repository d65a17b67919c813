import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkMirror, type Claims, type StateReaders } from '../../src/cli/check-mirror.ts';
import type { Reached } from '../../src/cli/check-cluster.ts';
import { CheckReport } from '../../src/cli/check-report.ts';
import { loadText } from '../../src/config/index.ts';
import type { Io } from '../../src/cli/io.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { type FakeCluster, startFakeBroker } from './index.ts';

let east: FakeCluster;
let west: FakeCluster;
const clusters: Cluster[] = [];

beforeEach(async () => {
  east = await startFakeBroker({ clusterId: 'east-id', topics: ['orders', 'pay-eu', 'pay-us'] });
  west = await startFakeBroker({ clusterId: 'west-id', topics: ['pay-us'] });
});
afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.close()));
  await Promise.all([east.close(), west.close()]);
});

async function reached(name: string, fake: FakeCluster): Promise<Reached> {
  const properties = { 'bootstrap.servers': fake.bootstrap };
  const cluster = new Cluster({ name, properties, clientId: 'check-test' });
  clusters.push(cluster);
  const clusterId = await cluster.connect();
  const age = {
    text: '',
    kraft: true,
    enoughForSource: true,
    enoughForDestination: true,
    alterAllowsMarkers: true,
  };
  return { cluster, name, clusterId, age, bootstrap: fake.bootstrap };
}

async function check(
  include: string,
  readers: Partial<StateReaders> = {},
  claims: Claims = new Map(),
): Promise<{ out: string; err: string; faults: number }> {
  const loaded = loadText(
    'isthmus.yaml',
    `clusters: { east: { bootstrap.servers: "${east.bootstrap}" }, west: { bootstrap.servers: "${west.bootstrap}" } }
mirrors: [{ name: m, source: east, destination: west, topics: { include: [${include}] } }]
`,
  );
  const mirror = loaded.ok ? loaded.config.mirrors[0] : undefined;
  if (!loaded.ok || mirror === undefined) throw new Error('not a configuration');
  const report = new CheckReport();
  const all = new Map([
    ['east', await reached('east', east)],
    ['west', await reached('west', west)],
  ]);
  const none: StateReaders = {
    findLoops: async () => ({ loops: new Map(), notes: [] }),
    mirroredTopics: async () => [],
  };
  await checkMirror(mirror, all, loaded.config, { ...none, ...readers }, claims, report);
  let [out, err] = ['', ''];
  const io = { out: (text: string) => (out += text), err: (text: string) => (err += text) };
  const faults = report.print(io as unknown as Io);
  return { out, err, faults };
}

test('a loop is a fault with its way, what could not be found out a warning; the other topics have their plan', async () => {
  const asked: unknown[] = [];
  const { out, err, faults } = await check('orders, pay-eu', {
    findLoops: async ({ topics, stateTopic }) => {
      asked.push(topics, stateTopic);
      return {
        loops: new Map([['orders', 'west -> south -> east -> west']]),
        notes: ['north was not asked'],
      };
    },
  });
  expect(asked).toEqual([['orders', 'pay-eu'], '__mirror_state']);
  expect(err).toMatch(/^mirror m: Detected mirror loop: orders would go west -> south -> east -> west$/m);
  expect(err).toMatch(/^mirror m: warning: north was not asked$/m);
  expect(out).toMatch(/pay-eu: 1 partition, 0 offsets; will be created on west/);
  expect(out).not.toMatch(/orders: 1 partition/);
  expect(faults).toBe(1);
});

test('the state of the destination tells whose a topic is', async () => {
  const { out, err, faults } = await check('/.*/', {
    mirroredTopics: async () => [
      { topic: 'orders', mirror: 'm', active: true },
      { topic: 'pay-eu', mirror: 'other', active: true },
      { topic: 'pay-us', mirror: 'm', active: false },
    ],
  });
  expect(out).toMatch(/^mirror m: orders: 1 partition, 0 offsets; mirrored already$/m);
  expect(err).toMatch(/^mirror m: pay-eu is mirrored on west in mirror other; a topic has one mirror$/m);
  expect(out).toMatch(/^mirror m: pay-us: 1 partition, 0 offsets; STOPPED already/m);
  expect(faults).toBe(1);
});

test('a state that can not be read is a warning, and so is who may write when the broker does not tell', async () => {
  const { out, err, faults } = await check('pay-us', {
    mirroredTopics: () => Promise.reject(new Error('no right to read __mirror_state')),
  });
  expect(err).toMatch(/^mirror m: warning: no right to read __mirror_state$/m);
  expect(err).toMatch(/^mirror m: warning: who may write .* is not known: .* does not answer DescribeAcls$/m);
  expect(out).toMatch(/pay-us: 1 partition, 0 offsets; the empty topic on west is taken over/);
  expect(faults).toBe(0);
});

test('a name that the source does not have is a fault', async () => {
  const { err, faults } = await check('nothing-here');
  expect(err).toMatch(/^mirror m: topic nothing-here does not exist on east$/m);
  expect(faults).toBe(1);
});

test('patterns that overlap are a fault for the topics there are, of the mirror that stands behind', async () => {
  const claims = new Map([['west/pay-eu', 'first']]);
  const { out, err, faults } = await check('/pay-.*/', {}, claims);
  expect(err).toMatch(/^mirror m: pay-eu is meant by mirror first too; a topic has one mirror$/m);
  expect(out).toMatch(/^mirror m: pay-us: 1 partition, /m);
  expect(faults).toBe(1);
  expect([...claims]).toEqual([
    ['west/pay-eu', 'first'],
    ['west/pay-us', 'm'],
  ]);
});
