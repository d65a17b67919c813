import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { VerbCall } from '../../../../src/gateway/ports.ts';
import { lifecycle, syncError } from '../../../../src/observe/channels.ts';
import { DestinationControl } from '../../../../src/control/destination-control.ts';
import type { JsonAnswer } from '../../../../src/control/json-verbs.ts';
import { AdminError } from '../../../../src/control/ports.ts';
import type { PartitionRecord } from '../../../../src/control/state/types.ts';
import type { MirrorEntry } from '../../../../src/control/yaml-mirrors.ts';
import { FakeStore } from './support/fake-store.ts';
import { FakeWorld, unreachable } from './support/fake-world.ts';
import { mirrorRecord, partitionRecord, topicRecord } from './support/records.ts';

const everything = 0xffff;
let store: FakeStore;
let world: FakeWorld;
let control: DestinationControl;
/** Rights of whoever asks. */
let rights: { cluster: number; topics: Map<string, number> | null };

beforeEach(() => {
  store = new FakeStore();
  world = new FakeWorld();
  rights = { cluster: everything, topics: null };
});
afterEach(async () => {
  await control.close();
});

function start(entries: readonly MirrorEntry[] = []): DestinationControl {
  control = new DestinationControl({
    destinationName: 'west',
    stateTopic: '__mirror_state',
    store,
    surroundings: world,
    clusters: new Map([
      ['east', 'east:9092'],
      ['west', 'west:9092'],
    ]),
    entries,
  });
  control.start();
  return control;
}

function call(apiKey: number, body: unknown): VerbCall {
  return {
    apiKey,
    apiVersion: 0,
    body,
    clientAddress: '127.0.0.1',
    clientId: 'test',
    rights: {
      cluster: async () => rights.cluster,
      topics: async (names) => rights.topics ?? new Map(names.map((name) => [name, everything])),
    },
  };
}

async function ask(verb: string, request: object = {}): Promise<JsonAnswer> {
  const answer = (await control.verbs.handle(
    call(32001, { json: JSON.stringify({ verb, ...request }) }),
  )) as {
    json: string;
  };
  return JSON.parse(answer.json) as JsonAnswer;
}

const orders = { topic: 'orders', partition: 0 };
const record = (): PartitionRecord | undefined => store.view.partitions.get('orders/0');
const inState = (state: string) => vi.waitFor(() => expect(record()?.state).toBe(state));

/** The topic is mirrored up to 10 by a link. */
async function mirroring(): Promise<void> {
  world.source.add('orders', 1, { end: 10 });
  await ask('create', { mirror: 'm', topics: ['orders'], options: { source: 'east', start: true } });
  await vi.waitFor(() => expect(world.link.resumes.has('orders/0')).toBe(true));
  await world.link.mirrored(orders, 10);
  await inState('MIRRORING');
}

describe('from create to STOPPED', () => {
  test('creates the topic with its settings, waits until gateways know, hands it to the link', async () => {
    world.source.add('orders', 1, { configs: { 'retention.ms': '7' } });
    start();
    const began = world.now();
    expect(await ask('create', { mirror: 'm', options: { source: 'east' } })).toMatchObject({ ok: true });
    expect(await ask('start', { mirror: 'm', topics: ['orders'] })).toMatchObject({ ok: true });

    await vi.waitFor(() => expect(world.links.length > 0 && world.link.resumes.has('orders/0')).toBe(true));
    expect(world.now() - began).toBeGreaterThanOrEqual(3000);
    expect(Object.fromEntries(world.destination.topics.get('orders')?.configs ?? [])).toMatchObject({
      'compression.type': 'producer',
      'retention.ms': '-1',
    });
    expect(world.link.resumes.get('orders/0')).toMatchObject({
      sourceTopicId: 'east-orders-id',
      destinationTopicId: 'west-orders-id',
      persistedEnd: 0,
      released: true,
    });
    expect(store.view.topics.get('orders')).toMatchObject({
      createdByUs: true,
      generation: 1,
      sourceSettings: { 'retention.ms': '7', 'cleanup.policy': null },
    });
    expect(record()?.state).toBe('LOG_ALIGNMENT');
  });

  test('an epoch is on record before the link goes on; the end follows each second', async () => {
    start();
    await mirroring();
    expect(record()).toMatchObject({ epochs: [{ epoch: 0, offset: 0 }], persistedEnd: 10, sourceEnd: 10 });
    world.link.moveTo(orders, { destinationEnd: 15, sourceHighWatermark: 20 });
    await vi.waitFor(() => expect(record()?.persistedEnd).toBe(15));
    expect(record()).toMatchObject({ lastMirrored: { offset: 14, sourceEpoch: 0 }, sourceEnd: 20 });
  });

  test('a source lost while it is mirrored: logged once it lasts, and its old end is no lag of 0', async () => {
    start();
    await mirroring();
    const told: string[] = [];
    const unsubscribe = syncError.subscribe(({ message }) => told.push(message));
    world.link.moveTo(orders, { error: 'broker 1 of east ended', sourceSeenAt: 1, sourceHighWatermark: 10 });
    await vi.waitFor(() => expect(told).toContain('broker 1 of east ended'));
    unsubscribe();
    const { describe: rows } = await ask('describe', { mirror: 'm' });
    expect(rows?.[0]).toMatchObject({ sourceOffset: -1, lag: -1, lastSourceEnd: 10, state: 'MIRRORING' });
  });

  test('stop: the link lets go, the barrier is written, the settings are given back', async () => {
    start();
    await mirroring();
    world.log('orders', 0).data(10, -7n);
    expect(await ask('failover', { mirror: 'm', all: true })).toMatchObject({ ok: true });
    await inState('STOPPED');
    expect(world.log('orders', 0).barriers()).toEqual([10]);
    await vi.waitFor(() => expect(store.view.topics.get('orders')?.configsPending).toBe(false));
    expect(world.destination.topics.get('orders')?.configs.size).toBe(0);
    expect((await ask('report', { mirror: 'm' })).report).toMatchObject([
      { difference: 0, barrierOffset: 10 },
    ]);
  });

  test('settings that can not be given back are tried until they can, and shown', async () => {
    start();
    await mirroring();
    world.log('orders', 0).data(10, -7n);
    await ask('stop', { mirror: 'm', all: true });
    world.destination.alterTopicConfigs = async () => {
      throw new AdminError('no right', 29, false);
    };
    await inState('STOPPED');
    await vi.waitFor(() => expect(store.view.topics.get('orders')?.error).toBe('no right'));
    expect((await ask('describe', { mirror: 'm' })).describe).toMatchObject([{ configsPending: true }]);
    Reflect.deleteProperty(world.destination, 'alterTopicConfigs');
    await vi.waitFor(() => expect(store.view.topics.get('orders')?.configsPending).toBe(false));
  });
});

describe('trouble', () => {
  test('an unreachable source is the error of the mirror, not its failure; it goes on by itself', async () => {
    await store.write([{ put: mirrorRecord }, { put: topicRecord }, { put: partitionRecord('MIRRORING') }]);
    world.source.add('orders').topics.get('orders')!.topicId = 'source-orders-id';
    world.destination.add('orders').topics.get('orders')!.topicId = 'destination-orders-id';
    world.source.fault = unreachable('east');
    start();
    await vi.waitFor(() => expect(control.rows(null)[0]?.error).toMatch(/can't be reached/));
    expect(record()?.state).toBe('MIRRORING');
    world.source.fault = null;
    await vi.waitFor(() => expect(world.links).toHaveLength(1));
  });

  test('failover without the source: probed, compared with nobody, STOPPED', async () => {
    await store.write([
      { put: mirrorRecord },
      { put: topicRecord },
      { put: partitionRecord('MIRRORING', { persistedEnd: 4, epochs: [{ epoch: 0, offset: 0 }] }) },
    ]);
    world.destination.add('orders').topics.get('orders')!.topicId = 'destination-orders-id';
    world.source.fault = unreachable('east');
    world.log('orders', 0).data(6, -7n);
    start();
    await ask('failover', { mirror: 'east-to-west', all: true });
    await inState('STOPPED');
    expect(world.log('orders', 0).settles).toBe(1);
    expect(record()?.report?.unverified).toMatchObject([{ from: 4, to: 6 }]);
  });

  test('a failure that can be retried is, and goes back to where it came from', async () => {
    start();
    await mirroring();
    const link = world.link;
    const seen: PartitionRecord[] = [];
    store.onChange((changes) => {
      for (const { record: now } of changes) if (now?.kind === 'partition') seen.push(now);
    });
    link.hooks.failed(orders, { code: 'authorization', message: 'no right', offset: 10, retriable: true });
    await vi.waitFor(() => expect(link.resumes.get('orders/0')?.persistedEnd).toBe(10));
    expect(link.resumes.get('orders/0')?.released).toBe(false);
    const failed = { state: 'FAILED', previousState: 'MIRRORING', retryAttempt: 0, errorMessage: 'no right' };
    expect(seen.slice(0, 2)).toMatchObject([failed, { state: 'MIRRORING', errorMessage: '' }]);
  });

  test('one that can not be retried stays FAILED with retry -1', async () => {
    start();
    await mirroring();
    world.link.hooks.failed(orders, {
      code: 'foreign-write',
      message: 'foreign',
      offset: 5,
      retriable: false,
    });
    await inState('FAILED');
    expect(record()?.retryAttempt).toBe(-1);
    expect((await ask('describe', { mirror: 'm' })).describe).toMatchObject([
      { state: 'FAILED', errorMessage: 'foreign', retryAttempt: -1 },
    ]);
  });

  test('a deleted and a recreated source topic, and a recreated destination topic, fail for good', async () => {
    for (const [source, destination, text] of [
      [null, 'destination-orders-id', /deleted at the source/],
      ['another-id', 'destination-orders-id', /created anew at the source/],
      ['source-orders-id', 'another-id', /created anew \(topic id another-id\)/],
    ] as const) {
      store = new FakeStore();
      world = new FakeWorld();
      await store.write([{ put: mirrorRecord }, { put: topicRecord }, { put: partitionRecord('MIRRORING') }]);
      if (source !== null) world.source.add('orders').topics.get('orders')!.topicId = source;
      world.destination.add('orders').topics.get('orders')!.topicId = destination;
      start();
      await inState('FAILED');
      expect(record()?.errorMessage).toMatch(text);
      expect(record()?.retryAttempt).toBe(-1);
      await control.close();
    }
  });

  test('partitions added at the source are shown, and the mirror goes on', async () => {
    start();
    await mirroring();
    world.source.topics.get('orders')!.partitions = 3;
    await vi.waitFor(() => expect(control.rows(null)[0]?.error).toMatch(/3 partitions at east and 1 here/));
    expect(record()?.state).toBe('MIRRORING');
  });

  test('a source that is another cluster now fails for good', async () => {
    await store.write([{ put: mirrorRecord }, { put: topicRecord }, { put: partitionRecord('MIRRORING') }]);
    world.source.id = 'somebody-else';
    start();
    await inState('FAILED');
    expect(record()?.errorMessage).toMatch(/cluster id somebody-else/);
  });

  test('a stop whose append stays silent is FAILED naming the broker, and tried again', async () => {
    start();
    await mirroring();
    world.log('orders', 0).data(10, -7n);
    world.link.removeFault = new AdminError('broker 3 of west has not answered', -1, true);
    await ask('stop', { mirror: 'm', all: true });
    await inState('STOPPED');
    expect(world.log('orders', 0).barriers()).toEqual([10]);
    expect(world.log('orders', 0).settles).toBe(1);
  });

  test('a stop waits for its append as long as append.silenceMs of the mirror says', async () => {
    world.silences.set('m', 5_000);
    start();
    await mirroring();
    world.log('orders', 0).data(10, -7n);
    await ask('stop', { mirror: 'm', all: true });
    await inState('STOPPED');
    expect(world.link.waited).toBe(5_000);
  });
});

describe('a clean end', () => {
  test('writes exact ends as released; the next process starts from them without doubt', async () => {
    start();
    await mirroring();
    await control.close();
    expect(store.closedWith).toEqual(new Map([['orders/0', 10]]));
    expect(record()?.persistedEnd).toBe(10);

    store.released.set('orders/0', 10);
    start();
    await vi.waitFor(() => expect(world.links).toHaveLength(2));
    await vi.waitFor(() =>
      expect(world.link.resumes.get('orders/0')).toMatchObject({ released: true, persistedEnd: 10 }),
    );
  });

  test('a partition that was still recovering is not released', async () => {
    world.source.add('orders');
    start();
    await ask('create', { mirror: 'm', topics: ['orders'], options: { source: 'east', start: true } });
    await vi.waitFor(() => expect(world.links.length > 0 && world.link.resumes.has('orders/0')).toBe(true));
    await control.close();
    expect(store.closedWith).toEqual(new Map());
  });

  test('an end released before that this process never went near is handed on', async () => {
    await store.write([{ put: mirrorRecord }, { put: topicRecord }, { put: partitionRecord('MIRRORING') }]);
    store.released.set('orders/0', 0);
    world.source.fault = unreachable('east');
    start();
    await vi.waitFor(() => expect(control.rows(null)[0]?.error).not.toBeNull());
    await control.close();
    expect(store.closedWith).toEqual(new Map([['orders/0', 0]]));
  });
});

describe('rights', () => {
  test('create and stop need ALTER on the cluster, reading DESCRIBE; the missing one is named', async () => {
    start();
    rights.cluster = 1 << 8;
    const refused = await ask('create', { mirror: 'm', options: { source: 'east' } });
    expect(refused.error).toMatchObject({ code: 144, message: expect.stringMatching(/ALTER.*kafka-acls/) });
    expect(store.taken).toEqual([]);
    expect((await ask('list')).ok).toBe(true);
    rights.cluster = 0;
    expect((await ask('list')).error?.code).toBe(144);
    rights.cluster = -0x8000_0000;
    expect((await ask('list')).error?.code).toBe(144);
    expect(await control.verbs.handle(call(98, { includeTopicNames: false }))).toMatchObject({
      errorCode: 144,
    });
  });

  test('start and stop need ALTER_CONFIGS on each topic that exists', async () => {
    start();
    await mirroring();
    rights.topics = new Map([['orders', 1 << 8]]);
    const refused = await ask('stop', { mirror: 'm', all: true });
    expect(refused.error).toMatchObject({
      code: 29,
      message: expect.stringMatching(/ALTER_CONFIGS on orders/),
    });
    expect(record()?.state).toBe('MIRRORING');
  });
});

describe('verbs', () => {
  test('a dry run changes nothing', async () => {
    world.source.add('orders');
    start();
    const { writes } = store;
    const planned = await ask('create', {
      mirror: 'm',
      topics: ['orders'],
      options: { source: 'east', start: true },
      dryRun: true,
    });
    expect(planned.plan?.steps).toHaveLength(2);
    expect(store.writes).toBe(writes);
    expect(store.taken).toEqual([]);
  });

  test('every command may be handed out twice: the second time changes nothing and says the same', async () => {
    start();
    await mirroring();
    world.log('orders', 0).data(10, -7n);
    await ask('stop', { mirror: 'm', all: true });
    await inState('STOPPED');
    await vi.waitFor(() => expect(store.view.topics.get('orders')?.configsPending).toBe(false));
    await ask('delete', { mirror: 'm' });
    const { writes } = store;
    const [create, , remove] = store.taken;
    for (const command of [create, remove]) {
      if (command === undefined) throw new Error('a command is missing');
      expect(await store.take(command)).toMatchObject({ ok: true });
    }
    // two results, no change of any mirror
    expect(store.writes).toBe(writes + 2);
    expect(store.view.mirrors.get('m')?.deletedAt).not.toBeNull();
  });

  test('a create handed out twice before anything else is done twice', async () => {
    start();
    await ask('create', { mirror: 'm', options: { source: 'east' } });
    const [create] = store.taken;
    if (create === undefined) throw new Error('no command');
    expect(await store.take(create)).toMatchObject({ ok: true });
    expect(await ask('create', { mirror: 'm', options: { source: 'east' } })).toMatchObject({
      error: { code: 136 },
    });
  });

  test('a topic that the source mirrors from here is a loop, unless it is STOPPED there', async () => {
    world.source.add('orders').add('returned');
    world.mirroredAtSource = [
      { topic: 'orders', sourceClusterId: 'west-id', active: true },
      { topic: 'returned', sourceClusterId: 'west-id', active: false },
    ];
    start();
    await ask('create', { mirror: 'm', options: { source: 'east' } });
    const answer = await ask('start', { mirror: 'm', topics: ['orders', 'returned'] });
    expect(answer.topics).toEqual([
      {
        topic: 'orders',
        error: expect.objectContaining({ message: expect.stringMatching(/Detected mirror loop/) }),
      },
      { topic: 'returned' },
    ]);
  });

  test('a failing state write is an answer, not a silence', async () => {
    start();
    store.faults.push(new Error('state topic is down'));
    expect(await ask('create', { mirror: 'm', options: { source: 'east' } })).toMatchObject({
      ok: false,
      error: { message: 'state topic is down' },
    });
  });

  test.each([
    [null, /no JSON/],
    ['{', /not JSON/],
    ['[]', /not a JSON object/],
    ['{}', /verb is missing/],
    ['{"verb":"stop"}', /needs the name/],
    ['{"verb":"stop","mirror":7}', /mirror is not a name/],
    ['{"verb":"stop","mirror":"m","topics":"x"}', /topics is not a list/],
    ['{"verb":"stop","mirror":"m","topics":[null]}', /topics\[0\] is not a name/],
    ['{"verb":"stop","mirror":"m","options":[]}', /options is not an object/],
  ])('%s is refused with a reason', async (json, reason) => {
    start();
    const answer = (await control.verbs.handle(call(32001, { json }))) as { json: string };
    const parsed = JSON.parse(answer.json) as JsonAnswer;
    expect(parsed.ok).toBe(false);
    expect(parsed.error?.message).toMatch(reason);
  });
});

describe('entries of the file', () => {
  const entry: MirrorEntry = {
    name: 'file',
    source: 'east',
    topics: { include: ['orders'], exclude: [] },
    replicationFactor: null,
    copier: 'link',
  };

  test('are created when the source answers, and their trouble is shown until then', async () => {
    world.source.add('orders').fault = unreachable('east');
    start([entry]);
    await vi.waitFor(() => expect(control.status().mirrors[0]?.error).toMatch(/can't be reached/));
    world.source.fault = null;
    await vi.waitFor(() => expect(store.view.topics.has('orders')).toBe(true));
  });

  test('a record of that name, deleted ones included, keeps them from being created', async () => {
    await store.write([{ put: { ...mirrorRecord, name: 'file', deletedAt: 5 } }]);
    const told: string[] = [];
    onTestFinished(lifecycle.subscribe(({ message }) => told.push(message)));
    world.source.add('orders');
    start([entry]);
    const before = world.now();
    await vi.waitFor(() => expect(world.now() - before).toBeGreaterThan(5000));
    expect(store.taken).toEqual([]);
    expect(control.list()).toEqual([]);
    // nothing runs of that entry: whoever deleted it and starts again is told why, and the way out
    expect(control.status().mirrors).toMatchObject([
      {
        mirror: 'file',
        error: expect.stringMatching(/was deleted, .* isthmus mirror create file --source east/),
      },
    ]);
    expect(told.filter((message) => message.startsWith('mirror file of the file:'))).toHaveLength(1);
  });
});

describe('what gateways see', () => {
  test('read-only until STOPPED, then barriers; a deleted mirror leaves an ordinary topic', async () => {
    start();
    await mirroring();
    expect(control.view.topic('orders')).toMatchObject({ mirror: 'm', source: 'east', readOnly: true });
    expect(control.view.topic('orders')?.isReadOnly(0)).toBe(true);
    expect(control.view.topic('orders')?.stateOf(0)).toBe('MIRRORING');
    expect(control.view.topic('other')).toBeUndefined();
    expect(control.view.anyBarrier).toBe(false);
    world.log('orders', 0).data(10, -7n);
    await ask('stop', { mirror: 'm', all: true });
    await inState('STOPPED');
    expect(control.view.topic('orders')?.readOnly).toBe(false);
    // partitions that the new owner adds have no record
    expect(control.view.topic('orders')?.isReadOnly(5)).toBe(false);
    expect(control.view.barriers('orders', 0)).toMatchObject([{ offset: 10, sourceClusterId: 'east-id' }]);
    expect(control.view.anyBarrier).toBe(true);
    await ask('delete', { mirror: 'm' });
    expect(control.view.topic('orders')).toBeUndefined();
    expect(control.view.barriers('orders', 0)).toHaveLength(1);
  });
});

describe('external copiers', () => {
  const mirror = 'm';
  async function external(): Promise<void> {
    world.source.add('orders');
    await ask('create', {
      mirror,
      topics: ['orders'],
      options: { source: 'east', start: true, copier: 'external' },
    });
    await vi.waitFor(() => expect(control.mirrorRole.grant(mirror, 'orders', 0).kind).toBe('owned'));
  }

  test('are told where the next batch belongs, and no link runs', async () => {
    start();
    await external();
    expect(world.links).toEqual([]);
    expect(control.mirrorRole.grant(mirror, 'orders', 0)).toEqual({ kind: 'owned', expectedOffset: 0 });
    control.mirrorRole.appended(mirror, 'orders', 0, 0, 5);
    expect(control.mirrorRole.grant(mirror, 'orders', 0)).toEqual({ kind: 'owned', expectedOffset: 5 });
    await vi.waitFor(() => expect(record()).toMatchObject({ state: 'MIRRORING', persistedEnd: 5 }));
    expect(control.mirrorRole.grant('other', 'orders', 0).kind).toBe('refused');
    expect(control.mirrorRole.grant(mirror, 'nothing', 0).kind).toBe('refused');
    await control.close();
    expect(store.closedWith).toEqual(new Map([['orders/0', 5]]));
  });

  test('an unexpected offset, or a failure, is FAILED for good', async () => {
    start();
    await external();
    control.mirrorRole.appended(mirror, 'orders', 0, 3, 5);
    await inState('FAILED');
    expect(record()?.errorMessage).toMatch(/landed at offset 3, expected 0/);
    expect(control.mirrorRole.grant(mirror, 'orders', 0).kind).toBe('not-leader');
  });

  test('after a process that did not write its end down: FAILED', async () => {
    await store.write([
      { put: { ...mirrorRecord, copier: 'external' } },
      { put: topicRecord },
      { put: partitionRecord('MIRRORING', { epochs: [{ epoch: 0, offset: 0 }] }) },
    ]);
    world.source.add('orders').topics.get('orders')!.topicId = 'source-orders-id';
    world.destination.add('orders').topics.get('orders')!.topicId = 'destination-orders-id';
    start();
    await inState('FAILED');
    expect(record()?.errorMessage).toMatch(/without writing down its end/);
  });

  test('stop: what was acknowledged is the end, and the rest is probed for', async () => {
    start();
    await external();
    control.mirrorRole.appended(mirror, 'orders', 0, 0, 5);
    world.log('orders', 0).data(5, -7n);
    await ask('stop', { mirror, all: true });
    await inState('STOPPED');
    expect(world.log('orders', 0).settles).toBe(1);
    expect(world.log('orders', 0).barriers()).toEqual([5]);
    expect(record()?.report?.unverified).toEqual([]);
  });
});
