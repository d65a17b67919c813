import { afterEach, expect, test } from 'vitest';
import { DestinationLog } from '../../src/link/index.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * Own fault: where records had been deleted at the destination past the persisted end, the tail could not be read from
 * there, and neither a new owner nor a stop ever went on.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const EPOCHS = [{ epoch: 0, offset: 0 }];

async function deletedUpTo(logStart: number): Promise<void> {
  one = await LinkUnderTest.start();
  for (let i = 0; i < 4; i += 1) one.from().append(plainBatch(3));
  for (const { bytes } of one.from().batches) one.to().append(bytes);
  one.to().logStart = logStart;
}

test.each([6, 7, 12])(
  'a new owner, the log beginning at %i: listed as unverified, the rest compared',
  async (start) => {
    await deletedUpTo(start);
    one.add(0, { persistedEnd: 3, released: false, epochs: EPOCHS });
    await until('it goes on', () => one.progress().phase === 'mirroring');
    expect(one.progress().unverified).toEqual({ from: 3, to: Math.ceil(start / 3) * 3 });
    one.from().append(plainBatch(2));
    await one.mirrored();
    expect(one.to().end).toBe(14);
  },
);

test('a difference behind it is found', async () => {
  await deletedUpTo(6);
  one.to().truncate(9);
  one.to().append(plainBatch(3, { producerId: -9n }));
  one.add(0, { persistedEnd: 3, released: false, epochs: EPOCHS });
  expect(await one.failed()).toMatchObject({ code: 'tail-differs', offset: 9 });
});

test('a stop visits what is there', async () => {
  await deletedUpTo(7);
  const log = new DestinationLog(
    one.destinationCluster,
    { topic: 't', partition: 0 },
    { mayAppend: () => true, settings: { backoffMs: 5 } },
  );
  const visited: number[] = [];
  await log.readBatches(3, 12, (records, at) => void visited.push(Number(records.readBigInt64BE(at))));
  expect(visited).toEqual([6, 9]);
});
