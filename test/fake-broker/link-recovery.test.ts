import { afterEach, describe, expect, test } from 'vitest';
import { barrierId } from '../../protocol/records/ids.ts';
import { DestinationLog, type LinkFailure, compareTail } from '../../src/link/index.ts';
import { until } from '../harness/until.ts';
import { type FakeLog, makeMarker, plainBatch } from './index.ts';
import { type LinkSetup, LinkUnderTest } from './support/link-under-test.ts';

let one: LinkUnderTest;
async function start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const PRODUCE = 0;
const MARKERS = 27;
const ref = { topic: 't', partition: 0 };
const EPOCHS = [{ epoch: 0, offset: 0 }];

const txn = (id: number, count: number) =>
  plainBatch(count, { producerId: BigInt(id), producerEpoch: 4, transactional: true });
const end = (id: number, commit: boolean) =>
  makeMarker({ producerId: BigInt(id), producerEpoch: 4, commit, coordinatorEpoch: 6 });

function writeMixed(log: FakeLog): void {
  log.append(plainBatch(3));
  log.append(txn(1, 2));
  log.append(txn(2, 4));
  log.append(end(2, false));
  log.append(end(1, true));
}

/** Mirrors what is there and leaves without a word, as a killed process does. Returns the end. */
async function mirrorAndVanish(link: LinkUnderTest): Promise<number> {
  link.add();
  await link.mirrored();
  const { destinationEnd } = link.progress();
  await link.link.close();
  return destinationEnd;
}

async function recovered(link: LinkUnderTest, resume: Parameters<LinkUnderTest['resume']>[0]) {
  const second = link.another();
  second.add(ref, link.resume(resume));
  await until('it is mirrored on', () => {
    if (link.failures.length > 0) throw new Error(link.failures[0]?.failure.message);
    return second.progress(ref)?.destinationEnd === link.from().lastStableOffset;
  });
  const progress = second.progress(ref);
  await second.close();
  return progress;
}

async function refused(
  link: LinkUnderTest,
  resume: Parameters<LinkUnderTest['resume']>[0],
): Promise<LinkFailure> {
  const second = link.another();
  second.add(ref, link.resume(resume));
  const failure = await link.failed();
  await second.close();
  return failure;
}

describe('a new owner (rule 9)', () => {
  test.each([0, 3, 5, 7])('compares all behind the persisted end %i and goes on', async (persistedEnd) => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    link.from().append(plainBatch(2));
    const progress = await recovered(link, { persistedEnd, released: false, epochs: EPOCHS });
    expect(progress?.settledBy).toBe('probe');
    expect(progress?.counts.dataBatches).toBe(1);
    link.expectEqual();
  });

  test('with the exact end released needs no probe', async () => {
    const link = await start();
    writeMixed(link.from());
    const persistedEnd = await mirrorAndVanish(link);
    const before = link.destination.requestsOf(PRODUCE).length;
    const progress = await recovered(link, { persistedEnd, released: true, epochs: EPOCHS });
    expect(progress?.settledBy).toBe('released');
    expect(link.destination.requestsOf(PRODUCE)).toHaveLength(before);
  });

  test('finds another end than the released one: it does not count', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    const progress = await recovered(link, { persistedEnd: 3, released: true, epochs: EPOCHS });
    expect(progress?.settledBy).toBe('probe');
    link.expectEqual();
  });

  test('waits until a late append of the old one has come, and finds it', async () => {
    const link = await start({ settings: { markerStillMs: 200 } });
    writeMixed(link.from());
    const persistedEnd = await mirrorAndVanish(link);
    link.from().append(plainBatch(2));
    // longer than this test may be kept from running between the probe and the late append
    const second = link.another({ settings: { markerStillMs: 1_500 } });
    second.add(ref, link.resume({ persistedEnd, released: false, epochs: EPOCHS }));
    await until('it probes', () => link.destination.requestsOf(PRODUCE).length > 3);
    expect(second.progress(ref)?.phase).toBe('recovering');
    link.to().append(plainBatch(2));
    await until('it is mirrored', () => second.progress(ref)?.destinationEnd === link.from().end);
    expect(second.progress(ref)?.counts.dataBatches).toBe(0);
    await second.close();
    link.expectEqual();
  });

  test.each<[string, (log: FakeLog) => void, number]>([
    ['a duplicate', (log) => void log.append(log.batches[0]?.bytes as Buffer), 11],
    [
      'a foreign batch in place of ours',
      (log) => {
        log.truncate(10);
        log.append(plainBatch(2, { producerId: 88n }));
      },
      10,
    ],
    [
      'a marker of another id',
      (log) => {
        log.truncate(10);
        log.append(makeMarker({ producerId: -9n, producerEpoch: 4, commit: true, coordinatorEpoch: 6 }));
      },
      10,
    ],
    [
      'a marker of another coordinator epoch',
      (log) => {
        log.truncate(10);
        log.append(makeMarker({ producerId: -3n, producerEpoch: 4, commit: true, coordinatorEpoch: 7 }));
      },
      10,
    ],
  ])('finds %s: FAILED before the first append, both ranges named', async (_, damage, offset) => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    damage(link.to());
    link.from().append(plainBatch(5));
    link.from().append(plainBatch(5));
    const stored = link.to().end;
    const failure = await refused(link, { persistedEnd: 3, released: false, epochs: EPOCHS });
    expect(failure).toMatchObject({ code: 'tail-differs', offset });
    expect(failure.message).toMatch(new RegExp(`destination range ${offset}.*source range ${offset}`));
    expect(link.to().end).toBe(stored);
  });

  test('a log shorter than what was persisted is mirrored again from its end', async () => {
    const link = await start();
    writeMixed(link.from());
    const persistedEnd = await mirrorAndVanish(link);
    link.to().truncate(5);
    await recovered(link, { persistedEnd, released: false, epochs: EPOCHS });
    link.expectEqual();
  });

  test('what the source no longer holds is listed as unverified, the rest compared', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    link.from().logStart = 6;
    const progress = await recovered(link, { persistedEnd: 0, released: false, epochs: EPOCHS });
    // offset 6 lies inside a run of inert markers, each a batch of its own
    expect(progress?.unverified).toEqual({ from: 0, to: 6 });
  });

  test('the source is away: it waits, showing the error, and appends nothing', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    await link.source.stopNode(1);
    const second = link.another();
    second.add(ref, link.resume({ persistedEnd: 0, released: false, epochs: EPOCHS }));
    await until('the error shows', () => /can't be reached|ended/.test(second.progress(ref)?.error ?? ''));
    expect(second.progress(ref)?.phase).toBe('recovering');
    await link.source.startNode(1);
    await until('it is there', () => second.progress(ref)?.phase === 'mirroring');
    await second.close();
  });

  test('ids that were open are still known', async () => {
    const link = await start();
    link.from().append(txn(5, 2));
    link.from().append(txn(6, 1));
    link.from().append(end(5, true));
    await mirrorAndVanish(link);
    const byTail = await recovered(link, { persistedEnd: 0, released: false, epochs: EPOCHS });
    expect(byTail?.openIds).toEqual([-7n]);
    const byState = await recovered(link, {
      persistedEnd: 2,
      released: true,
      epochs: EPOCHS,
      openIds: [-7n],
    });
    expect(byState?.openIds).toEqual([-7n]);
  });
});

describe('topics and logs that are not what they were', () => {
  test('the source log starts above zero', async () => {
    const link = await start();
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.from().logStart = 6;
    link.add();
    expect(await link.failed()).toMatchObject({ code: 'non-zero-log-start', offset: 6 });
    expect(link.to().end).toBe(0);
  });

  test('the source lost its tail and wrote another (unclean election)', async () => {
    const link = await start();
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    await link.source.stopNode(1);
    link.from().truncate(6);
    link.from().newLeaderEpoch();
    for (let i = 0; i < 9; i += 1) link.from().append(plainBatch(3));
    await link.source.startNode(1);
    expect(await link.failed()).toMatchObject({ code: 'diverged', offset: 6 });
    expect(link.to().end).toBe(12);
  });

  test('the source lost its tail: the mirror stands above its end', async () => {
    const link = await start();
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    await link.source.stopNode(1);
    link.from().truncate(6);
    await link.source.startNode(1);
    expect(await link.failed()).toMatchObject({ code: 'diverged' });
  });

  test('offsets with a gap: what stands before it is mirrored, then FAILED', async () => {
    const link = await start();
    link.from().append(plainBatch(3));
    link.from().appendAt(plainBatch(3), 5);
    link.add();
    expect(await link.failed()).toMatchObject({ code: 'offset-gap', offset: 3 });
    expect(link.to().end).toBe(3);
  });
});

describe('the destination log alone', () => {
  const open = (link: LinkUnderTest, mayAppend = () => true) =>
    new DestinationLog(link.destinationCluster, ref, {
      mayAppend,
      settings: { markerStillMs: 50, backoffMs: 5, ioThreads: 1 },
    });
  const barrier = { expectedOffset: 3, sourceClusterId: 'east-id', generation: 2 };

  test('writes the barrier at the end, and finds it there the second time', async () => {
    const link = await start();
    link.to().append(plainBatch(3));
    const reading = await open(link).appendBarrier(barrier);
    expect(reading.end).toBe(4);
    await open(link).appendBarrier(barrier);
    expect(link.to().end).toBe(4);
    const stored = link.to().batches[1]?.bytes as Buffer;
    expect(stored.readBigInt64BE(43)).toBe(barrierId('east-id'));
  });

  test.each(['after', 'before'] as const)('the reply is lost, cut %s: one barrier', async (when) => {
    const link = await start();
    link.to().append(plainBatch(3));
    link.destination.next(MARKERS, { kind: 'cut', when });
    await open(link).appendBarrier(barrier);
    expect(link.to().end).toBe(4);
  });

  test('does not write where it does not belong', async () => {
    const link = await start();
    link.to().append(plainBatch(3));
    await expect(open(link).appendBarrier({ ...barrier, expectedOffset: 2 })).rejects.toThrow(/2/);
    await expect(open(link).appendBarrier({ ...barrier, expectedOffset: 5 })).rejects.toThrow(/below 5/);
    link
      .to()
      .append(
        makeMarker({ producerId: barrierId('other'), producerEpoch: 0, commit: true, coordinatorEpoch: 2 }),
      );
    await expect(open(link).appendBarrier(barrier)).rejects.toThrow(/t-0/);
    expect(link.to().end).toBe(4);
  });

  test('reads end and batches', async () => {
    const link = await start();
    for (let i = 0; i < 5; i += 1) link.to().append(plainBatch(3));
    expect(await open(link).readEnd()).toMatchObject({
      end: 15,
      highWatermark: 15,
      logStart: 0,
      leaderEpoch: 0,
    });
    expect(await open(link).settle()).toMatchObject({ end: 15, settledBy: 'probe' });
    const bases: number[] = [];
    await open(link).readBatches(4, 12, (records, at) => {
      bases.push(Number(records.readBigInt64BE(at)));
    });
    expect(bases).toEqual([3, 6, 9]);
    expect(link.to().end).toBe(15);
  });
});

describe('the tail compared for a stop', () => {
  const compare = (link: LinkUnderTest, from: number, deadlineMs: number) =>
    compareTail({
      source: link.sourceCluster,
      destination: link.destinationCluster,
      ref,
      from,
      to: link.to().end,
      deadlineMs,
    });

  test('equal', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    expect(await compare(link, 3, 2_000)).toEqual({ kind: 'equal' });
  });

  test('differs', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    link.to().append(plainBatch(2));
    link.from().append(plainBatch(3));
    expect(await compare(link, 3, 2_000)).toMatchObject({ kind: 'differs', offset: 11 });
  });

  test('the source is away: unverified when the time is over', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    await link.source.stopNode(1);
    expect(await compare(link, 3, 150)).toMatchObject({ kind: 'unverified', from: 3, to: 11 });
  });

  test('the source has less than the destination: unverified when the time is over', async () => {
    const link = await start();
    writeMixed(link.from());
    await mirrorAndVanish(link);
    link.to().append(plainBatch(2));
    expect(await compare(link, 3, 1_500)).toMatchObject({ kind: 'unverified', from: 11, to: 13 });
  });
});
