import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';

// MirrorMaker 2 pull request 22079 and Strimzi issue 9905: the same cluster under two names, or two mirrors of one
// topic in both directions, flood the source with its own records. (A loop of three clusters stands in no single state
// topic: it is not found.)
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
