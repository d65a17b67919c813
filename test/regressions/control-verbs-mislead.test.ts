import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { audit, type Audit } from '../../src/observe/channels.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { mirrorRecord, partitionRecord } from '../unit/src/control/support/records.ts';

// Own faults: what verbs and the entries of the file said was not so, or not said at all.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

const ALL_RIGHTS = 0xffff;

describe('a topic that is gone at the destination', () => {
  test('can be stopped by a caller whose own connection does not know it either', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.world.destination.topics.delete('orders');
    under.told = new Map();
    under.start();
    expect(await under.ask('stop', { mirror: 'east-to-west', all: true })).toMatchObject({ ok: true });
    await under.untilState('STOPPED');
  });

  test('but one that is there and not told of is not', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.told = new Map([['other', ALL_RIGHTS]]);
    under.start();
    expect(await under.ask('stop', { mirror: 'east-to-west', all: true })).toMatchObject({
      error: { code: 29, message: expect.stringMatching(/ALTER_CONFIGS on orders/) },
    });
  });
});

describe('topics of a verb', () => {
  test('a name that the mirror excludes is told, not left out in silence', async () => {
    await under.store.write([
      { put: { ...mirrorRecord, topics: { include: [], exclude: ['secret', '/hidden-.*/'] } } },
    ]);
    under.world.source.add('orders').add('secret').add('hidden-1');
    under.start();
    const answer = await under.ask('start', {
      mirror: 'east-to-west',
      topics: ['orders', 'secret', 'hidden-1'],
    });
    expect(answer.topics).toEqual(
      expect.arrayContaining([
        { topic: 'orders' },
        { topic: 'secret', error: expect.objectContaining({ message: expect.stringMatching(/exclude/) }) },
        { topic: 'hidden-1', error: expect.objectContaining({ message: expect.stringMatching(/exclude/) }) },
      ]),
    );
    expect(answer.ok).toBe(false);
  });

  test('a name that is none is refused as a bad request, not as a fault inside', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.start();
    for (const topics of [['no name!'], ['/(/']]) {
      expect(await under.ask('stop', { mirror: 'east-to-west', topics })).toMatchObject({
        error: { name: 'INVALID_REQUEST' },
      });
    }
  });

  test('names together with "all" are refused: one of the two is a slip', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.start();
    expect(
      await under.ask('failover', { mirror: 'east-to-west', topics: ['orders'], all: true }),
    ).toMatchObject({
      error: { name: 'INVALID_REQUEST', message: expect.stringMatching(/all/) },
    });
    expect(under.record().state).toBe('MIRRORING');
  });
});

describe('an entry of the file', () => {
  const entry = {
    name: 'file',
    source: 'east',
    topics: { include: ['orders', 'fine'], exclude: [] },
    replicationFactor: null,
    copier: 'link' as const,
  };

  test('whose topic belongs to another mirror goes on saying so', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    under.world.source.add('fine');
    under.start([entry]);
    await vi.waitFor(() => expect(under.store.view.topics.has('fine')).toBe(true));
    await under.after(60_000);
    const status = under.control.status().mirrors.find(({ mirror }) => mirror === 'file');
    expect(status?.error).toMatch(/orders belongs to mirror east-to-west/);
  });

  test('that an older process created and could not start in full shows what nobody starts', async () => {
    await under.recorded([partitionRecord('MIRRORING')]);
    await under.store.write([
      { put: { ...mirrorRecord, topics: { include: ['orders', 'late'], exclude: [] } } },
    ]);
    const include = ['orders', 'late'];
    under.start([{ ...entry, name: mirrorRecord.name, topics: { include, exclude: [] } }]);
    expect(under.control.status().mirrors[0]?.drift).toEqual(['not mirrored, and started by nobody: late']);
  });

  test('that waits for its source writes no line of the audit each time', async () => {
    const lines: Audit[] = [];
    const end = audit.subscribe((line) => lines.push(line));
    under.world.source.fault = new Error('down') as never;
    under.start([entry]);
    await vi.waitFor(() => expect(under.control.status().mirrors[0]?.error).toBe('down'));
    await under.after(60_000);
    end();
    expect(lines).toEqual([]);
  });
});

test('a source that hangs while a command is decided does not hold the commands behind it', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED' });
  under.world.source.add('slow');
  under.start();
  const { world } = under;
  let opened = 0;
  const open = world.openSource.bind(world);
  world.openSource = (...args) => {
    opened += 1;
    return opened === 1 ? open(...args) : new Promise(() => undefined);
  };
  const answer = await under.ask('start', { mirror: 'east-to-west', topics: ['slow'] });
  expect(answer.error).toMatchObject({
    name: 'REQUEST_TIMED_OUT',
    message: expect.stringMatching(/did not answer/),
  });
  expect(under.store.view.topics.has('slow')).toBe(false);
});

test('the settings that could not be given back are told by describe', async () => {
  await under.recorded([partitionRecord('STOPPED')], {
    desired: 'STOPPED',
    configsPending: true,
    error: 'no right',
  });
  under.world.destination.alterTopicConfigs = () => Promise.reject(new Error('no right'));
  under.start();
  expect(under.control.rows(null)).toMatchObject([
    { state: 'STOPPED', errorMessage: expect.stringMatching(/settings.*no right/) },
  ]);
});

test('an end that fell back is shown as it is, in describe and in the plan of a failover', async () => {
  await under.recorded([
    partitionRecord('MIRRORING', { persistedEnd: 100, epochs: [{ epoch: 0, offset: 0 }] }),
  ]);
  under.start();
  await vi.waitFor(() => expect(under.world.link.resumes.has('orders/0')).toBe(true));
  await under.world.link.mirrored({ topic: 'orders', partition: 0 }, 40, { sourceHighWatermark: 100 });
  expect(under.control.rows(null)).toMatchObject([{ destinationOffset: 40, lag: 60 }]);
  const { plan } = await under.ask('failover', { mirror: 'east-to-west', all: true, dryRun: true });
  expect(plan?.steps).toMatchObject([{ lastMirroredOffset: 39, difference: 60 }]);
});
