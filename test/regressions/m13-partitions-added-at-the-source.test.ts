import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// MirrorMaker 2 pull request 12016: partitions added at the source were silently not copied. They are not copied here
// either yet, and that is said.
let under: ControlUnderTest;

beforeEach(async () => {
  under = new ControlUnderTest();
  await under.recorded([partitionRecord('MIRRORING')]);
});
afterEach(() => under.close());

const shown = async () => (await under.ask('describe', { mirror: 'east-to-west' })).describe?.[0];

test('partitions added while the mirror runs are an error of the topic, and the others go on', async () => {
  under.start();
  await vi.waitFor(() => expect(under.world.links).toHaveLength(1));
  await under.world.link.mirrored({ topic: 'orders', partition: 0 }, 5);
  under.world.source.topics.get('orders')!.partitions = 6;
  await vi.waitFor(async () => expect((await shown())?.error).toMatch(/6 partitions at east and 1 here/));
  expect(under.record().state).toBe('MIRRORING');
});

test('partitions added while Isthmus was away are told at its start', async () => {
  under.world.source.topics.get('orders')!.partitions = 2;
  under.start();
  await vi.waitFor(async () =>
    expect((await shown())?.errorMessage).toMatch(/2 partitions at east and 1 here/),
  );
});

test('a start names a destination topic with another partition count', async () => {
  under.start();
  under.world.source.add('wide', 3);
  under.world.destination.add('wide', 5);
  const answer = await under.ask('start', { mirror: 'east-to-west', topics: ['wide'] });
  expect(answer.error).toMatchObject({
    name: 'INVALID_PARTITIONS',
    message: expect.stringMatching(/5 partitions, the source has 3/),
  });
});
