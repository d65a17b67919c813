import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../harness/until.ts';
import { makeMarker, plainBatch } from './index.ts';
import { type LinkSetup, LinkUnderTest } from './support/link-under-test.ts';

let one: LinkUnderTest;
async function start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const PRODUCE = 0;
const txn = (id: number, count: number) =>
  plainBatch(count, { producerId: BigInt(id), producerEpoch: 4, transactional: true });
const end = (id: number, commit: boolean) =>
  makeMarker({ producerId: BigInt(id), producerEpoch: 4, commit, coordinatorEpoch: 6 });

/** Committed, aborted and interleaved transactions among plain and idempotent batches. */
function writeMixed(link: LinkUnderTest, partition = 0, rounds = 5): void {
  const log = link.from(partition);
  for (let i = 0; i < rounds; i += 1) {
    log.append(plainBatch(3));
    log.append(txn(1, 2));
    log.append(txn(2, 4));
    log.append(plainBatch(2, { producerId: 9n }));
    log.append(txn(1, 1));
    log.append(end(2, i % 2 === 0));
    log.append(end(1, i % 2 === 1));
  }
}

describe('the path of a partition', () => {
  test('mixed transactions come out at their offsets, and what is open is not there', async () => {
    const link = await start();
    writeMixed(link);
    link.from().append(plainBatch(2));
    link.from().append(txn(3, 5));
    link.from().append(plainBatch(2));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress()).toMatchObject({
      phase: 'mirroring',
      error: null,
      sourceHighWatermark: link.from().end,
      sourceLastStableOffset: link.from().lastStableOffset,
      settledBy: 'released',
      openIds: [],
    });
    link.from().append(end(3, true));
    await link.mirrored();
    link.expectEqual();
    expect(link.epochs).toEqual([{ partition: { topic: 't', partition: 0 }, epoch: 0, offset: 0 }]);
  });

  test('an id with data whose COMMIT lies above the last stable offset is shown as open', async () => {
    const link = await start();
    link.from().append(txn(5, 2));
    link.from().append(txn(6, 1));
    link.from().append(end(5, true));
    link.add();
    await link.mirrored();
    expect(link.progress().openIds).toEqual([-7n]);
    link.from().append(end(6, true));
    await link.mirrored();
    expect(link.progress().openIds).toEqual([]);
  });

  test('many partitions over several brokers share requests and stay apart (C13)', async () => {
    const topics = [{ name: 't', partitions: 40 }];
    const link = await start({ source: { brokers: 2, topics }, destination: { brokers: 3, topics } });
    for (let p = 0; p < 40; p += 1) {
      writeMixed(link, p, 2);
      link.from(p).append(plainBatch(1 + p, { timestamp: 1_700_000_000_000 + p }));
      link.add(p);
    }
    for (let p = 0; p < 40; p += 1) await link.mirrored(p);
    for (let p = 0; p < 40; p += 1) link.expectEqual(p);
    const batches = 40 * (2 * 4 + 1);
    expect(link.destination.requestsOf(PRODUCE).length).toBeLessThan(batches / 2);
  });

  test('it goes on where it stopped, after a clean close', async () => {
    const link = await start();
    writeMixed(link);
    link.add();
    await link.mirrored();
    const ends = await link.link.close();
    expect([...ends]).toEqual([['t/0', link.from().end]]);
    writeMixed(link);
    const second = link.another();
    const ref = { topic: 't', partition: 0 };
    const persistedEnd = ends.get('t/0') as number;
    second.add(ref, link.resume({ persistedEnd, epochs: [{ epoch: 0, offset: 0 }] }));
    await until('mirrored on', () => second.progress(ref)?.destinationEnd === link.from().end);
    expect(second.progress(ref)?.settledBy).toBe('released');
    await second.close();
    link.expectEqual();
  });

  test('a source epoch is in state before its first append', async () => {
    const gates: (() => void)[] = [];
    const link = await start({
      hooks: { epochBegins: () => new Promise<void>((resolve) => gates.push(resolve)) },
    });
    link.from().append(plainBatch(2));
    link.from().newLeaderEpoch();
    link.from().append(plainBatch(2));
    link.add();
    await until('the first epoch is announced', () => gates.length === 1);
    expect(link.destination.requestsOf(PRODUCE)).toHaveLength(0);
    gates[0]?.();
    await until('the second epoch is announced', () => gates.length === 2);
    expect(link.to().end).toBe(2);
    gates[1]?.();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().lastSourceEpoch).toBe(1);
  });

  test('nothing is appended while this instance may not', async () => {
    let may = false;
    let refused = 0;
    const mayAppend = (): boolean => {
      if (!may) refused += 1;
      return may;
    };
    const link = await start({ hooks: { mayAppend } });
    link.from().append(plainBatch(2));
    link.add();
    await until('it asks again and again', () => refused >= 3);
    expect(link.progress().sourceHighWatermark).toBe(2);
    expect(link.destination.requestsOf(PRODUCE)).toEqual([]);
    expect(link.to().end).toBe(0);
    may = true;
    await link.mirrored();
  });

  test('queued bytes stay within the budget while the destination is silent, and none is lost', async () => {
    const topics = [{ name: 't', partitions: 6 }];
    const settings = { bufferBytes: 256 * 1024, fetchMaxBytes: 64 * 1024 };
    const link = await start({ source: { topics }, destination: { topics }, settings });
    const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' });
    for (let p = 0; p < 6; p += 1) {
      for (let i = 0; i < 40; i += 1) link.from(p).append(plainBatch(200));
      link.add(p);
    }
    await held.met;
    const asked = link.source.requestsOf(1).length;
    let before = Number.NEGATIVE_INFINITY;
    const stops = (): boolean => {
      const now = link.source.requestsOf(1).length;
      const few = now <= before + 2;
      before = now;
      return few;
    };
    await until('fetching stops', stops, { everyMs: 40 });
    expect(link.source.requestsOf(1).length - asked).toBeLessThan(60);
    held.release();
    for (let p = 0; p < 6; p += 1) await link.mirrored(p);
    for (let p = 0; p < 6; p += 1) link.expectEqual(p);
  });

  test('a batch larger than any limit passes alone', async () => {
    const settings = { bufferBytes: 64 * 1024, fetchMaxBytes: 8 * 1024, maxRequestBytes: 8 * 1024 };
    const link = await start({ settings });
    link.from().append(plainBatch(10));
    link.from().append(plainBatch(20_000));
    link.from().append(plainBatch(10));
    link.add();
    await link.mirrored();
    link.expectEqual();
  });
});

describe('the source is away', () => {
  test('its broker stops and comes back', async () => {
    const link = await start();
    writeMixed(link);
    link.add();
    await link.mirrored();
    await link.source.stopNode(1);
    await until('the error is shown', () => link.progress().error !== null);
    expect(link.progress().phase).toBe('mirroring');
    writeMixed(link);
    await link.source.startNode(1);
    await link.mirrored();
    await until('the error is gone', () => link.progress().error === null);
    link.expectEqual();
  });

  test('the leader moves to another broker', async () => {
    const link = await start({ source: { brokers: 2 } });
    writeMixed(link);
    link.add();
    await link.mirrored();
    link.source.setLeader('t', 0, 2);
    writeMixed(link);
    await link.mirrored();
    link.expectEqual();
    expect(link.epochs.map((start) => start.epoch)).toEqual([0, 1]);
  });

  test('a partition without a leader waits', async () => {
    const link = await start({ source: { brokers: 2 } });
    link.source.setLeader('t', 0, -1);
    link.from().append(plainBatch(2));
    link.add();
    await until('the error names it', () => /no leader/.test(link.progress().error ?? ''));
    link.source.setLeader('t', 0, 2);
    await link.mirrored();
    link.expectEqual();
  });
});
