import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { FakeCluster, unreachable } from '../unit/src/control/support/fake-world.ts';
import { lifecycle } from '../../src/observe/channels.ts';
import type { MirroredTopic } from '../../src/control/ports.ts';

// MirrorMaker 2 pull request 22079 and Strimzi issue 9905: the same cluster under two names, or two mirrors of one
// topic in both directions, flood the source with its own records. A loop of three clusters
// stands in no single state topic: the chain is read as far as the configured clusters go.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest().start();
});
afterEach(() => under.close());

test('the destination under another name is refused by its cluster id, before a byte is copied', async () => {
  under.world.source.id = under.world.destination.id;
  under.world.source.add('orders');
  const answer = await under.ask('create', {
    mirror: 'm',
    topics: ['orders'],
    options: { source: 'east', start: true },
  });
  expect(answer).toMatchObject({ ok: false, error: { message: expect.stringMatching(/same cluster/) } });
  expect(under.store.view.mirrors.size).toBe(0);
  expect(under.world.destination.created).toBe(0);
});

test('a topic that comes from here is not mirrored back; others of the same mirror are', async () => {
  under.world.source.add('ours').add('theirs');
  under.world.mirroredAtSource = [{ topic: 'ours', sourceClusterId: 'west-id', active: true }];
  await under.ask('create', { mirror: 'm', options: { source: 'east' } });
  const answer = await under.ask('start', { mirror: 'm', topics: ['/.*/'] });
  expect(answer.topics).toEqual([
    {
      topic: 'ours',
      error: expect.objectContaining({ message: expect.stringMatching(/Detected mirror loop/) }),
    },
    { topic: 'theirs' },
  ]);
  expect([...under.store.view.topics.keys()]).toEqual(['theirs']);
});

test('a source whose mirrors can not be read is said, not passed over', async () => {
  under.world.source.add('orders');
  under.world.lineageFault = new Error('no right to read __mirror_state');
  await under.ask('create', { mirror: 'm', options: { source: 'east' } });
  const answer = await under.ask('start', { mirror: 'm', topics: ['orders'] });
  expect(answer.plan?.notes.join()).toMatch(/is not known: no right to read __mirror_state/);
});

describe('a loop over more than two clusters', () => {
  const from = (topic: string, cluster: string, active = true): MirroredTopic => ({
    topic,
    sourceClusterId: `${cluster}-id`,
    active,
  });
  const other = (name: string, mirrored: readonly MirroredTopic[] | Error) => {
    const cluster = new FakeCluster(name, `${name}-id`);
    under.world.others.set(name, { cluster, mirrored });
    return cluster;
  };
  const start = async (...topics: string[]) => {
    under.start();
    await under.ask('create', { mirror: 'm', options: { source: 'east' } });
    return under.ask('start', { mirror: 'm', topics });
  };
  beforeEach(async () => {
    await under.close();
    under = new ControlUnderTest();
    under.world.source.add('orders').add('fine');
  });

  test('of three is refused with the whole way; a topic of the same mirror that begins elsewhere is not', async () => {
    under.world.mirroredAtSource = [from('orders', 'south'), from('fine', 'south')];
    other('south', [from('orders', 'west')]);
    const answer = await start('orders', 'fine');
    expect(answer.topics).toEqual([
      {
        topic: 'orders',
        error: expect.objectContaining({
          message: 'Detected mirror loop: orders would go west -> south -> east -> west',
        }),
      },
      { topic: 'fine' },
    ]);
    expect(answer.plan?.notes).toEqual([]);
    // every session of the chain is closed again
    expect(under.world.closedSessions).toBeGreaterThanOrEqual(under.world.opened - 1);
  });

  test('of four is refused too, and one whose link was stopped is none', async () => {
    under.world.mirroredAtSource = [from('orders', 'south'), from('fine', 'south')];
    other('south', [from('orders', 'north'), from('fine', 'north')]);
    other('north', [from('orders', 'west'), from('fine', 'west', false)]);
    const answer = await start('orders', 'fine');
    expect(answer.topics?.[0]?.error?.message).toMatch(/west -> north -> south -> east -> west/);
    expect(answer.topics?.[1]).toEqual({ topic: 'fine' });
  });

  test('a circle among others, which does not pass through here, comes to an end', async () => {
    under.world.mirroredAtSource = [from('orders', 'south')];
    other('south', [from('orders', 'east')]);
    expect(await start('orders')).toMatchObject({ ok: true });
  });

  test('a link that is not readable, not reachable or not configured is said with the topics it is about', async () => {
    under.world.mirroredAtSource = [from('orders', 'south'), from('fine', 'nowhere')];
    other('south', new Error('no right to read __mirror_state'));
    other('north', []).fault = unreachable('north');
    const answer = await start('orders', 'fine');
    expect(answer).toMatchObject({ ok: true });
    expect(answer.plan?.notes).toEqual([
      'whether south mirrors orders from here is not known: no right to read __mirror_state',
      'fine of east is a mirror of cluster id nowhere-id; whether it comes from west is not known: no cluster of ' +
        "the configuration has that id, and not all could be asked (north: cluster north can't be reached)",
    ]);
  });

  test('is said in the log for an entry of the file, which nobody reads the answer of', async () => {
    const lines: string[] = [];
    const end = lifecycle.subscribe(({ message }) => lines.push(message));
    under.world.mirroredAtSource = [from('fine', 'nowhere')];
    const topics = { include: ['fine'], exclude: [] };
    under.start([{ name: 'file', source: 'east', topics, replicationFactor: null, copier: 'link' }]);
    await vi.waitFor(() =>
      expect(lines.join()).toMatch(/mirror file: fine of east is a mirror of cluster id/),
    );
    end();
  });
});
