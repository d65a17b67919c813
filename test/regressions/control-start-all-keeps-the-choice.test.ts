import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';

// `start --all` put the names that an expression had found into the mirror's include list, which then differed from
// the file for ever.
let under: ControlUnderTest;
beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

const include = () => under.store.view.mirrors.get('second')?.topics.include;

test('start --all takes what an expression finds by now, and the include list stays as it was', async () => {
  under.world.source.add('pay-eu');
  under.start();
  await under.ask('create', { mirror: 'second', topics: ['/pay-.*/'], options: { source: 'east' } });
  under.world.source.add('pay-us');
  expect(await under.ask('start', { mirror: 'second', all: true })).toMatchObject({ ok: true });
  expect(under.store.view.topics.get('pay-eu')?.mirror).toBe('second');
  expect(under.store.view.topics.get('pay-us')?.mirror).toBe('second');
  expect(include()).toEqual(['/pay-.*/']);
});

test('names and expressions of a start join it as they were written', async () => {
  under.world.source.add('pay-eu');
  under.world.source.add('bills');
  under.start();
  await under.ask('create', { mirror: 'second', topics: ['/pay-.*/'], options: { source: 'east' } });
  await under.ask('start', { mirror: 'second', topics: ['/bi.*/'] });
  expect(include()).toEqual(['/pay-.*/', '/bi.*/']);
});
