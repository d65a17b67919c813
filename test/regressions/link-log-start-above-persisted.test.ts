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

const FETCH = 1;
const EPOCHS = [{ epoch: 0, offset: 0 }];

function destinationLog(): DestinationLog {
  return new DestinationLog(
    one.destinationCluster,
    { topic: 't', partition: 0 },
    { mayAppend: () => true, settings: { backoffMs: 5 } },
  );
}

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

// While a tail was compared, an offset that was deleted, or lost, meanwhile was asked for again and again.
test.each([
  { what: 'deleted', start: 7, from: 3, to: 9 },
  { what: 'deleted, all of it', start: 12, from: 3, to: 12 },
])('$what while the source is asked: listed as unverified', async ({ start, from, to }) => {
  await deletedUpTo(0);
  const asked = one.source.next(FETCH, { kind: 'hold', when: 'before' });
  one.add(0, { persistedEnd: 3, released: false, epochs: EPOCHS });
  await asked.met;
  one.to().logStart = start;
  asked.release();
  await until('it goes on', () => one.progress().phase === 'mirroring');
  expect(one.progress().unverified).toEqual({ from, to });
});

test('lost while the source is asked: mirrored again', async () => {
  await deletedUpTo(0);
  const asked = one.source.next(FETCH, { kind: 'hold', when: 'before' });
  one.add(0, { persistedEnd: 3, released: false, epochs: EPOCHS });
  await asked.met;
  one.to().truncate(3);
  asked.release();
  await one.mirrored();
  one.expectEqual();
});

test('a stop whose log loses its tail while it is read judges anew', async () => {
  await deletedUpTo(0);
  const log = destinationLog();
  const visited: number[] = [];
  const read = log.readBatches(3, 13, (records, at) => void visited.push(Number(records.readBigInt64BE(at))));
  await expect(read).rejects.toThrow('the log at the destination ends at 12 now, below 13');
  expect(visited).toEqual([3, 6, 9]);
  await expect(log.readBatches(20, 30, () => undefined)).rejects.toThrow('ends at 12 now, below 30');
});

test('a stop visits what is there', async () => {
  await deletedUpTo(7);
  const log = destinationLog();
  const visited: number[] = [];
  await log.readBatches(3, 12, (records, at) => void visited.push(Number(records.readBigInt64BE(at))));
  expect(visited).toEqual([6, 9]);
});
