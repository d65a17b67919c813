import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * Own fault: a source that lost its tail (unclean election) after that was fetched and before it was appended. The link
 * appended what it knew to be no longer the source's, and then failed for good over it.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const FETCH = 1;

test('what was fetched and not appended is dropped, and the copy goes on', async () => {
  let mayAppend = true;
  one = await LinkUnderTest.start({ hooks: { mayAppend: () => mayAppend } });
  one.from().append(plainBatch(3));
  one.add();
  await one.mirrored();
  mayAppend = false;
  one.from().append(plainBatch(4));
  one.from().append(plainBatch(5));
  const asked = one.source.requestsOf(FETCH).length;
  await until('they are fetched', () => one.progress().sourceHighWatermark === 12);
  await until('it asks for more', () => one.source.requestsOf(FETCH).length > asked + 2);
  one.from().truncate(7);
  one.from().newLeaderEpoch();
  one.from().append(plainBatch(2));
  one.from().append(plainBatch(9));
  const seen = one.source.requestsOf(FETCH).length;
  await until('it was told', () => one.source.requestsOf(FETCH).length > seen + 2);
  mayAppend = true;
  await until('all is there', () => one.to().end === one.from().end);
  await one.mirrored();
  expect(one.failures).toEqual([]);
  one.expectEqual();
});

test('what was appended already is a copy of another log: FAILED', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  one.from().truncate(3);
  one.from().newLeaderEpoch();
  one.from().append(plainBatch(9));
  expect(await one.failed()).toMatchObject({ code: 'diverged', offset: 3, retriable: false });
  expect(one.to().end).toBe(7);
});
