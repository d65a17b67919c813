import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { type LinkSetup, LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * A broker that is stopped or cut off without a reset answers nothing and ends nothing. What another broker can do
 * must not wait for it.
 */
let one: LinkUnderTest;
async function start(setup: LinkSetup): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const PRODUCE = 0;
const FETCH = 1;

test('the source broker falls silent: its partitions say so and go on at the new leader', async () => {
  const link = await start({ source: { brokers: 2 }, settings: { fetchSilenceMs: 200 } });
  link.from().append(plainBatch(2));
  link.add();
  await link.mirrored();
  const held = link.source.next(FETCH, { kind: 'hold', when: 'before' }, { node: 1, times: 1_000 });
  await held.met;
  await until('the silence shows', () => /no answer to Fetch/.test(link.progress().error ?? ''), {
    timeoutMs: 8_000,
  });
  link.source.setLeader('t', 0, 2);
  link.from().append(plainBatch(2));
  await link.mirrored();
  link.expectEqual();
  held.cancel();
  held.release();
});

test('an answer that comes slowly is not silence', async () => {
  // three of them are longer than the silence, none comes near it
  const link = await start({ settings: { fetchSilenceMs: 1_200 } });
  const slow = link.source.next(FETCH, { kind: 'delay', ms: 500 }, { times: 3 });
  for (let i = 0; i < 20; i += 1) link.from().append(plainBatch(50));
  link.add();
  await slow.met;
  await link.mirrored();
  expect(link.progress().error).toBeNull();
  link.expectEqual();
});

test('a partition that waits behind the request of another goes to its new leader', async () => {
  const topics = [{ name: 't', partitions: 2 }];
  const link = await start({ source: { topics }, destination: { brokers: [1, 2], topics } });
  link.destination.setLeader('t', 0, 1);
  link.destination.setLeader('t', 1, 1);
  const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' }, { node: 1 });
  link.from(0).append(plainBatch(2));
  link.add(0);
  await held.met;
  link.from(1).append(plainBatch(2));
  link.add(1);
  await until('the second partition is fetched', () => link.progress(1).sourceHighWatermark === 2);
  link.destination.setLeader('t', 1, 2);
  await until('the second partition is mirrored', () => link.to(1).end === 2);
  await link.mirrored(1);
  expect(link.progress(0).requestAgeMs).toBeGreaterThan(0);
  await until('the silent broker is named', () =>
    /broker 1.*has not answered/.test(link.progress(0).error ?? ''),
  );
  // it may come back to where it was: nothing of it is sent twice
  link.destination.setLeader('t', 1, 1);
  for (let i = 0; i < 5; i += 1) link.from(1).append(plainBatch(1));
  held.release();
  await link.mirrored(0);
  await link.mirrored(1);
  link.expectEqual(0);
  link.expectEqual(1);
});
