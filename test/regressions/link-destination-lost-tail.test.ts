import { afterEach, expect, test } from 'vitest';
import type { OffsetSpan, PartitionRef } from '../../src/link/index.ts';
import { type TailLost, tailLost } from '../../src/observe/channels.ts';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

// Own fault: a destination that had lost what it had acknowledged (unclean election, wiped disk) was mirrored again
// without a word. Nothing was told or counted, state kept the old end, so that the next owner would not have compared
// what was appended below it, and the open transactions were those of the old end.
let one: LinkUnderTest;
const ends: (() => void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await one.close();
});

const PRODUCE = 0;
const FETCH = 1;
const EPOCHS = [{ epoch: 0, offset: 0 }];
const txn = (id: bigint, count: number) =>
  plainBatch(count, { producerId: id, producerEpoch: 0, transactional: true });
const commit = (id: bigint) =>
  makeMarker({ producerId: id, producerEpoch: 0, commit: true, coordinatorEpoch: 0 });

interface Rewound {
  readonly partition: PartitionRef;
  readonly lost: OffsetSpan;
  readonly openIds: readonly bigint[];
  /** Appends that the destination had seen by then. */
  readonly appends: number;
}

/** A link whose state takes what was lost when `written` lets it. */
async function start(written: () => Promise<void> = async () => undefined) {
  const rewound: Rewound[] = [];
  const told: TailLost[] = [];
  ends.push(tailLost.subscribe((event) => told.push(event)));
  one = await LinkUnderTest.start({
    hooks: {
      rewound: async (partition, lost, openIds) => {
        const appends = one.destination.requestsOf(PRODUCE).length;
        rewound.push({ partition, lost, openIds, appends });
        await written();
      },
    },
  });
  return { rewound, told };
}

/** Everything behind `offset` is gone, and another leader knows no better. */
function loseFrom(offset: number): void {
  one.to().truncate(offset);
  one.to().newLeaderEpoch();
}

test('while it is mirrored: told, counted in state before anything is appended, and right again', async () => {
  const { rewound, told } = await start();
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  const before = one.destination.requestsOf(PRODUCE).length;
  loseFrom(3);
  await until('it is mirrored again', () => one.to().end === 7);
  await one.mirrored();
  one.expectEqual();
  expect(told).toEqual([{ mirror: 'm', topic: 't', partition: 0, from: 3, to: 7 }]);
  expect(rewound).toMatchObject([{ lost: { from: 3, to: 7 }, appends: before }]);
  expect(one.progress().lost).toBeNull();
});

test('state can not be written: nothing is appended until it can, and the loss is shown', async () => {
  let mayWrite = false;
  const { rewound } = await start(async () => {
    if (!mayWrite) throw new Error('no state');
  });
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  loseFrom(3);
  await until('it was tried more than once', () => rewound.length > 2);
  expect(one.to().end).toBe(3);
  expect(one.progress()).toMatchObject({ destinationEnd: 3, lost: { from: 3, to: 7 } });
  expect(one.progress().error).toContain('no state');
  mayWrite = true;
  await one.mirrored();
  one.expectEqual();
});

test('found by a new owner below the persisted end', async () => {
  const { rewound, told } = await start();
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(4));
  one.to().append(one.from().batches[0]?.bytes as Buffer);
  one.source.next(FETCH, { kind: 'hold' }).met.catch(() => undefined);
  one.add(0, { persistedEnd: 7, released: false, epochs: EPOCHS });
  await until('it recovered', () => one.progress().phase === 'mirroring');
  expect(one.progress()).toMatchObject({ destinationEnd: 3, lost: { from: 3, to: 7 } });
  expect(one.progress().error).toMatch(/t-0: the destination lost 3\.\.6/);
  expect(told).toHaveLength(1);
  await one.link.close({ silenceMs: 50 });

  const second = one.another({
    hooks: {
      rewound: async (partition, lost, openIds) => {
        rewound.push({ partition, lost, openIds, appends: one.destination.requestsOf(PRODUCE).length });
      },
    },
  });
  const before = one.to().end;
  second.add({ topic: 't', partition: 0 }, one.resume({ persistedEnd: 7, released: false, epochs: EPOCHS }));
  await until('it is mirrored', () => one.to().end === 7);
  await second.close();
  one.expectEqual();
  expect(before).toBe(3);
  expect(rewound.map(({ lost }) => lost)).toEqual([{ from: 3, to: 7 }]);
});

test('open transactions go back with the end', async () => {
  const { rewound } = await start();
  one.from().append(txn(1n, 2)); // 0: ended before the cut
  one.from().append(commit(1n));
  one.from().append(txn(2n, 2)); // 3: open at the cut
  one.from().append(plainBatch(1));
  one.from().append(commit(2n)); // 6
  one.from().append(txn(3n, 1)); // 7: begun behind it
  one.from().append(commit(3n));
  one.add();
  await one.mirrored();
  expect(one.progress().openIds).toEqual([]);
  loseFrom(6);
  await one.mirrored();
  await until('state was told', () => rewound.length > 0);
  expect(rewound[0]?.openIds).toEqual([-4n]);
  await until('it is mirrored again', () => one.progress().lost === null);
  expect(one.progress().openIds).toEqual([]);
  one.expectEqual();
});
