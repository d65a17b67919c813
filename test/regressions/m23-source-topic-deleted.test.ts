import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// KIP-1279 review, mail 157530: a source topic is deleted and its orphaned mirror can't be found. KIP-1279 itself lets
// a STOPPED topic fail when the old source's topic goes, which would make a promoted topic read-only again.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('a topic deleted at the source is FAILED for good, its copy is kept, and stop is the way out', async () => {
  await under.recorded([partitionRecord('MIRRORING')]);
  under.start();
  await vi.waitFor(() => expect(under.world.links).toHaveLength(1));
  await under.world.link.mirrored({ topic: 'orders', partition: 0 }, 5);
  await vi.waitFor(() => expect(under.record().persistedEnd).toBe(5));
  under.world.log('orders', 0).data(5, -7n);
  under.world.source.topics.delete('orders');

  await under.untilState('FAILED');
  expect(under.record()).toMatchObject({ retryAttempt: -1 });
  expect(under.record().errorMessage).toMatch(/deleted at the source east; the copy is kept/);
  expect(under.world.destination.topics.has('orders')).toBe(true);

  await under.ask('stop', { mirror: 'east-to-west', all: true });
  await under.untilState('STOPPED');
  expect(under.world.log('orders', 0).barriers()).toEqual([5]);
});

test('a STOPPED topic stays writable whatever happens to the old source', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED' });
  under.world.source.topics.delete('orders');
  under.start();
  await under.after(60_000);
  expect(under.record().state).toBe('STOPPED');
  expect(under.control.view.topic('orders')?.readOnly).toBe(false);
});
