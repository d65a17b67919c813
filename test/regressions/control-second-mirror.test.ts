import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { mirrorRecord, partitionRecord } from '../unit/src/control/support/records.ts';

// A topic has one mirror. `create` took a topic of another mirror without a word, and only its start was refused.
let under: ControlUnderTest;

beforeEach(async () => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

const create = (topics: readonly string[], more: object = {}) =>
  under.ask('create', { mirror: 'second', topics, options: { source: 'east', ...more } });

const kipCreate = (config: Record<string, string>) =>
  under.control.verbs.handle({
    apiKey: 94,
    apiVersion: 0,
    body: {
      mirrorName: 'second',
      config: Object.entries({ source: 'east', ...config }).map(([name, value]) => ({ name, value })),
    },
    clientAddress: '127.0.0.1',
    clientId: 'test',
    rights: {
      cluster: async () => 0xffff,
      topics: async (names) => new Map(names.map((name) => [name, 0xffff])),
    },
  });

describe('a mirror that names a topic of another one', () => {
  beforeEach(async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.world.source.add('fine');
    under.start();
  });

  test.each([{}, { start: true }])(
    'is refused at create %o: nothing is written, nothing begins',
    async (more) => {
      const answer = await create(['fine', 'orders'], more);
      expect(answer).toMatchObject({
        ok: false,
        error: { code: 138, message: 'orders belongs to mirror east-to-west' },
      });
      expect(under.store.view.mirrors.has('second')).toBe(false);
      expect(under.store.view.topics.has('fine')).toBe(false);
    },
  );

  test("is refused at KIP-1279's CreateClusterMirror", async () => {
    expect(await kipCreate({ 'topics.include': 'fine,orders' })).toMatchObject({
      errorCode: 138,
      errorMessage: 'orders belongs to mirror east-to-west',
    });
    expect(under.store.view.mirrors.has('second')).toBe(false);
  });

  test('may have a pattern that covers it: patterns are judged by the topics there are at start', async () => {
    expect(await create(['/.*/'])).toMatchObject({ ok: true });
    const answer = await under.ask('start', { mirror: 'second', all: true });
    const byName = new Map(answer.topics?.map(({ topic, error }) => [topic, error?.code ?? 0]));
    expect(Object.fromEntries(byName)).toEqual({ fine: 0, orders: 138 });
  });

  test('may name it among what it leaves out', async () => {
    expect(await create(['orders', 'fine'], { exclude: ['orders'] })).toMatchObject({ ok: true });
  });
});

test('a topic that is STOPPED in another mirror is refused with what can be done now', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED' });
  under.start();
  const { error } = await create(['orders']);
  expect(error).toMatchObject({ code: 145 });
  expect(error?.message).toMatch(/STOPPED in mirror east-to-west.*delete topic orders at the destination/);
});

describe('a topic that another mirror only names', () => {
  beforeEach(async () => {
    under.world.source.add('orders').add('fine');
    await under.store.write([{ put: mirrorRecord }]);
    under.start();
  });

  test('is refused at create, and at the start of a mirror whose pattern covers it', async () => {
    const named = 'orders is named by the include list of mirror east-to-west; a topic has one mirror';
    expect(await create(['orders'])).toMatchObject({ error: { code: 138, message: named } });
    await create([]);
    const answer = await under.ask('start', { mirror: 'second', topics: ['/.*/'] });
    expect(answer.topics?.find(({ topic }) => topic === 'orders')?.error).toMatchObject({ message: named });
    expect(under.store.view.topics.get('fine')?.mirror).toBe('second');
  });

  test('is free again once that mirror is deleted', async () => {
    await under.ask('delete', { mirror: 'east-to-west' });
    expect(await create(['orders'])).toMatchObject({ ok: true });
  });
});

test('an internal topic is refused at create, not only at start', async () => {
  under.start();
  expect(await create(['__consumer_offsets'])).toMatchObject({ error: { name: 'INVALID_TOPIC_EXCEPTION' } });
});

describe('an entry of the file that names a topic of another mirror', () => {
  const entry = {
    name: 'second',
    source: 'east',
    topics: { include: ['orders', 'fine'], exclude: [] },
    replicationFactor: null,
    copier: 'link' as const,
  };

  test('begins with the others, and says whose the topic is', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.world.source.add('fine');
    under.start([entry]);
    await vi.waitFor(() => expect(under.store.view.topics.get('fine')?.mirror).toBe('second'));
    const status = () => under.control.status().mirrors.find(({ mirror }) => mirror === 'second');
    await vi.waitFor(() => expect(status()?.error).toMatch(/orders belongs to mirror east-to-west/));
    expect(under.store.view.topics.get('orders')?.mirror).toBe('east-to-west');
  });

  test('shows it as drift after a restart, when nobody tries any more', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    await under.store.write([{ put: { ...mirrorRecord, name: 'second', topics: entry.topics } }]);
    under.start([{ ...entry, topics: { include: ['orders', 'fine'], exclude: [] } }]);
    expect(under.control.status().mirrors.find(({ mirror }) => mirror === 'second')?.drift).toEqual([
      'not mirrored here: orders belongs to mirror east-to-west',
      'not mirrored, and started by nobody: fine',
    ]);
  });
});

describe('create with start', () => {
  beforeEach(() => {
    under.world.source.add('full').add('fine');
    under.world.destination.add('full', 1, { end: 7 });
    under.start();
  });

  test('of which nothing can begin writes nothing', async () => {
    const { error } = await create(['full', 'nothing-here'], { start: true });
    expect(error?.message).toMatch(
      /cluster east has no topic nothing-here; topic full exists at west with records/,
    );
    expect(under.store.view.mirrors.size).toBe(0);
  });

  test('of which some can begin says which can not', async () => {
    const answer = await create(['full', 'fine'], { start: true });
    const byName = new Map(answer.topics?.map(({ topic, error }) => [topic, error?.name ?? '']));
    expect(Object.fromEntries(byName)).toEqual({ fine: '', full: 'TOPIC_ALREADY_EXISTS' });
    expect(under.store.view.mirrors.has('second')).toBe(true);
  });
});
