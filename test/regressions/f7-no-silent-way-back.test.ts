import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// Redpanda's documentation: a failover can't be undone, and records that the new side never saw are in doubt. The way
// back comes later here; until then every door to it says so, and none of them copies over a STOPPED topic.
let under: ControlUnderTest;

beforeEach(async () => {
  under = new ControlUnderTest();
  await under.recorded(
    [partitionRecord('STOPPED', { barriers: [{ offset: 4, generation: 1, sourceClusterId: 'east-id' }] })],
    {
      desired: 'STOPPED',
    },
  );
  under.start();
});
afterEach(() => under.close());

test.each([
  ['the same mirror', 'east-to-west'],
  ['another mirror', 'other'],
])('start by %s is refused with the reason', async (_, mirror) => {
  await under.ask('create', { mirror: 'other', options: { source: 'east' } });
  const answer = await under.ask('start', { mirror, topics: ['orders'] });
  expect(answer.error).toMatchObject({ code: 145, message: expect.stringMatching(/rebuild/) });
  expect(under.record().state).toBe('STOPPED');
});

test.each(['reverse', 'truncate-and-restore', 'rebuild', 'promote', 'switch'])(
  '%s says that it comes later',
  async (verb) => {
    const answer = await under.ask(verb, { mirror: 'east-to-west', all: true });
    expect(answer).toMatchObject({ ok: false, error: { name: 'UNSUPPORTED_VERSION' } });
    expect(answer.error?.message).toMatch(new RegExp(`^${verb} comes later`));
  },
);

test('delete says that the way back needs the record', async () => {
  const answer = await under.ask('delete', { mirror: 'east-to-west', dryRun: true });
  expect(answer.plan?.notes.join()).toMatch(/failback from west needs this record/);
});
