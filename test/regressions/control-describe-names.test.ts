import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// `describe --topics` took a pattern for a name and a name of no mirror topic for an empty answer.
let under: ControlUnderTest;

beforeEach(async () => {
  under = new ControlUnderTest();
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED' });
  under.start();
});
afterEach(() => under.close());

test.each(['describe', 'report'])('%s takes names and patterns', async (verb) => {
  const ask = (topics: readonly string[]) => under.ask(verb, { mirror: 'east-to-west', topics });
  const rows = async (topics: readonly string[]) => {
    const answer = await ask(topics);
    return (answer.describe ?? answer.report ?? []).length;
  };
  const all = await rows([]);
  expect(await rows(['orders'])).toBe(all);
  expect(await rows(['/ord.*/'])).toBe(all);
  expect(await rows(['/x.*/'])).toBe(0);
  expect(await ask(['orders', 'nothing-here'])).toMatchObject({
    ok: false,
    error: { code: 139, message: 'nothing-here: no topic of mirror east-to-west' },
  });
  expect(await ask(['/(/'])).toMatchObject({ ok: false, error: { name: 'INVALID_REQUEST' } });
});

test('list tells what each mirror is meant to take, and a plan of create too', async () => {
  expect((await under.ask('list')).list).toEqual([
    expect.objectContaining({ mirror: 'east-to-west', include: ['orders'], exclude: [] }),
  ]);
  const options = { source: 'east', include: ['/pay-.*/'], exclude: ['pay-test'] };
  const { plan } = await under.ask('create', { mirror: 'm', dryRun: true, options });
  expect(plan?.steps).toEqual([expect.objectContaining({ include: ['/pay-.*/'], exclude: ['pay-test'] })]);
});
