import { afterEach, expect, test, vi } from 'vitest';
import { startIsthmus } from '../../src/app.ts';
import { loadText } from '../../src/config/index.ts';
import { type FakeCluster, startFakeBroker } from '../fake-broker/index.ts';
import { freePorts } from '../harness/free-port.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord, stopProgress } from '../unit/src/control/support/records.ts';

// Own faults: a clean end that waits for somebody who never answers is none: the process is ended without `released`,
// and the next one must probe every partition.

let broker: FakeCluster | null = null;
afterEach(async () => {
  await broker?.close();
  broker = null;
});

test('an entry of the file whose source hangs does not keep the process from its end', async () => {
  const under = new ControlUnderTest();
  let asked = false;
  under.world.openSource = () => {
    asked = true;
    return new Promise(() => undefined);
  };
  under.start([
    {
      name: 'file',
      source: 'east',
      topics: { include: ['orders'], exclude: [] },
      replicationFactor: null,
      copier: 'link',
    },
  ]);
  await vi.waitFor(() => expect(asked).toBe(true));
  await under.close();
  expect(under.store.closedWith).toEqual(new Map());
});

test('a stop that is stuck is let go, and touches nothing any more', async () => {
  const under = new ControlUnderTest();
  await under.recorded([partitionRecord('STOPPING', { stop: stopProgress() })]);
  const log = under.world.log('orders', 0);
  let stuck = false;
  log.settle = () => {
    stuck = true;
    return new Promise(() => undefined);
  };
  let closed = false;
  under.world.close = () => {
    closed = true;
  };
  under.start();
  await vi.waitFor(() => expect(stuck).toBe(true));
  await under.close();
  expect(closed).toBe(true);
  expect(log.barriers()).toEqual([]);
});

const yaml = (clusters: string, gateways: string) => `clusters:\n${clusters}gateways:\n${gateways}`;

test('an end asked for while a destination is still being opened does not wait for it', async () => {
  // knows no transactions: its state can't be taken over, and is tried for a minute
  broker = await startFakeBroker({ topics: [{ name: '__mirror_state', partitions: 1 }] });
  const [bind, node] = await freePorts(2);
  const text = yaml(
    `  west: { bootstrap.servers: "${broker.bootstrap}" }\n`,
    `  - { name: west, cluster: west, role: client, bind: "127.0.0.1:${bind}", nodeIds: 1, brokerPorts: ${node} }\n` +
      'state: { partitions: 1, replication.factor: 1 }\n',
  );
  const loaded = loadText('isthmus.yaml', text);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const isthmus = await startIsthmus(loaded.config);
  isthmus.ready.catch(() => undefined);
  await vi.waitFor(() => expect(isthmus.status().waitingFor.join()).toMatch(/state of west/));
  const began = performance.now();
  await isthmus.close();
  expect(performance.now() - began).toBeLessThan(25_000);
});

test('one cluster under two names is told as that, not as another instance that takes over', async () => {
  broker = await startFakeBroker({ topics: [{ name: '__mirror_state', partitions: 1 }] });
  const [bindA, nodeA, bindB, nodeB] = await freePorts(4);
  const gateway = (name: string, bind: number | undefined, node: number | undefined) =>
    `  - { name: ${name}, cluster: ${name}, role: client, bind: "127.0.0.1:${bind}", nodeIds: 1, brokerPorts: ${node} }\n`;
  const text = yaml(
    `  west: { bootstrap.servers: "${broker.bootstrap}" }\n  west2: { bootstrap.servers: "another.address:1" }\n`,
    gateway('west', bindA, nodeA) +
      gateway('west2', bindB, nodeB) +
      'state: { partitions: 1, replication.factor: 1 }\n',
  );
  const loaded = loadText('isthmus.yaml', text);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  // one address under both names is a fault of the file already; here it is another one that leads to the same brokers
  const clusters = new Map(loaded.config.clusters);
  const west = clusters.get('west');
  if (west !== undefined) clusters.set('west2', { ...west, name: 'west2' });
  const isthmus = await startIsthmus({ ...loaded.config, clusters }, { openTimeoutMs: 2000 });
  try {
    await expect(isthmus.ready).rejects.toThrow(/west.* and west.* are the same cluster/);
  } finally {
    await isthmus.close();
  }
});
