import { afterEach, describe, expect, test } from 'vitest';
import { nextShares } from '../../src/link/fetch-plan.ts';
import { makeBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * Case M18: over a long path (100 ms there and back) a hot partition of 10 MB/s falls behind when a round trip brings too
 * little. What decides is how much each answer of the source carries, whatever the path: 10 MB/s take 1 MiB of it.
 */
const FETCH = 1;
const MIB = 1024 * 1024;

let one: LinkUnderTest;
afterEach(() => one.close());

function fill(partition: number, bytes: number): number {
  const batch = makeBatch({ records: [{ key: null, value: 'x'.repeat(64 * 1024) }] });
  for (let filled = 0; filled < bytes; filled += batch.length) one.from(partition).append(batch);
  return bytes;
}

test('one hot partition: a round trip brings more than 1 MiB', async () => {
  one = await LinkUnderTest.start();
  const bytes = fill(0, 16 * MIB);
  one.source.next(FETCH, { kind: 'delay', ms: 20 }, { times: 1_000 });
  one.add();
  await one.mirrored();
  expect(one.source.requestsOf(FETCH).length).toBeLessThan(bytes / MIB);
});

// Own fault: each partition of a Fetch was held to its even share of the answer, however little the others had.
test('among 99 quiet partitions: more than half a MiB, those that the others have for themselves included', async () => {
  const topics = [{ name: 't', partitions: 100 }];
  one = await LinkUnderTest.start({ source: { topics }, destination: { topics } });
  for (let quiet = 1; quiet < 100; quiet += 1) fill(quiet, 1);
  const bytes = fill(0, 48 * MIB);
  one.source.next(FETCH, { kind: 'delay', ms: 20 }, { times: 1_000 });
  for (let partition = 0; partition < 100; partition += 1) one.add(partition);
  await one.mirrored();
  expect(one.source.requestsOf(FETCH).length).toBeLessThan((2 * bytes) / MIB);
});

describe('the share of an answer that one partition may take', () => {
  const plan = {
    partitions: [],
    maxBytes: 4 * MIB,
    partitionMaxBytes: 128 * 1024,
    maxWaitMs: 500,
    nextAt: null,
  };

  test.each([
    { what: 'grows while one is cut and the answer has room', bytes: 200_000, most: 120_000, next: 16 },
    { what: 'stays when nobody is cut', bytes: 200_000, most: 20_000, next: 4 },
    { what: 'stays when the answer is half full', bytes: 2.5 * MIB, most: 120_000, next: 4 },
    { what: 'stays when one alone fills the answer', bytes: 4 * MIB, most: 3 * MIB, next: 4 },
    { what: 'falls when several fill the answer', bytes: 4 * MIB, most: 120_000, next: 2 },
  ])('$what', ({ bytes, most, next }) => {
    expect(nextShares(4, plan, bytes, most)).toBe(next);
  });

  test('grows no further than one whole answer, and never falls below an even share', () => {
    expect(nextShares(4, { ...plan, partitionMaxBytes: plan.maxBytes }, MIB, 4 * MIB)).toBe(4);
    expect(nextShares(1, plan, 4 * MIB, 120_000)).toBe(1);
  });
});
