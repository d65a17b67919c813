import { afterEach, describe, expect, test } from 'vitest';
import { ErrorCode } from '../../protocol/errors.ts';
import { until } from '../harness/until.ts';
import { type RequestInfo, makeMarker, plainBatch } from './index.ts';
import { type LinkSetup, LinkUnderTest, spellStored } from './support/link-under-test.ts';

let one: LinkUnderTest;
async function start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const PRODUCE = 0;
const MARKERS = 27;
const END = 23;
const METADATA = 3;

const txn = (id: number, count: number) =>
  plainBatch(count, { producerId: BigInt(id), producerEpoch: 4, transactional: true });
const end = (id: number, commit: boolean) =>
  makeMarker({ producerId: BigInt(id), producerEpoch: 4, commit, coordinatorEpoch: 6 });

/** One aborted transaction of `count` records: count + 1 inert markers in one request. */
function abortedRun(link: LinkUnderTest, count: number): void {
  link.from().append(txn(1, count));
  link.from().append(end(1, false));
}

describe('the connection is lost without a reply', () => {
  test('behind the append: looked at, found, not sent again', async () => {
    const link = await start();
    link.destination.next(PRODUCE, { kind: 'cut', when: 'after' });
    for (let i = 0; i < 5; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('look');
  });

  test('before the append: looked at, absent, probed, sent again once', async () => {
    const link = await start();
    link.destination.next(PRODUCE, { kind: 'cut', when: 'before' });
    for (let i = 0; i < 5; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('probe');
  });

  test('several partitions in the lost request are settled each for itself', async () => {
    const topics = [{ name: 't', partitions: 8 }];
    const link = await start({ source: { topics }, destination: { topics } });
    for (let p = 0; p < 8; p += 1) for (let i = 0; i < 20; i += 1) link.from(p).append(plainBatch(1 + p));
    for (let i = 0; i < 10; i += 1) {
      link.destination.next(PRODUCE, { kind: 'cut', when: i % 2 === 0 ? 'after' : 'before' });
    }
    for (let p = 0; p < 8; p += 1) link.add(p);
    for (let p = 0; p < 8; p += 1) await link.mirrored(p);
    for (let p = 0; p < 8; p += 1) link.expectEqual(p);
  });

  test.each(['after', 'before'] as const)('a request of markers, cut %s', async (when) => {
    const link = await start();
    link.destination.next(MARKERS, { kind: 'cut', when });
    abortedRun(link, 20);
    link.from().append(plainBatch(2));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe(when === 'after' ? 'look' : 'probe');
  });

  test('in the middle of a marker run: goes on at the first that is missing', async () => {
    const link = await start();
    abortedRun(link, 20);
    const held = link.destination.next(MARKERS, { kind: 'hold', when: 'after' });
    link.add();
    await held.met;
    await until('all markers stand', () => link.to().end === 21);
    link.to().truncate(8);
    await link.destination.stopNode(1);
    await link.destination.startNode(1);
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('probe');
  });

  test('the end read behind acknowledged markers is lost: the end is read again', async () => {
    const link = await start();
    const isPipelined = (request: RequestInfo): boolean => markerConnections(link).has(request.connection);
    link.destination.next(END, { kind: 'cut', when: 'before' }, { when: isPipelined });
    abortedRun(link, 5);
    link.from().append(plainBatch(1));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('reply');
  });

  test('a late append behind the look is seen by the probe and found to be ours', async () => {
    const link = await start();
    link.from().append(plainBatch(3));
    const lost = link.destination.next(PRODUCE, { kind: 'cut', when: 'before' });
    // the first probe finds the log as the late request leaves it
    const probe = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' }, { when: isDoomed });
    link.add();
    const { frame } = await lost.met;
    await probe.met;
    link.to().append(batchIn(frame));
    probe.release();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('probe');
  });
});

describe('replies that end a request', () => {
  test.each([
    ['too few in-sync replicas', ErrorCode.NOT_ENOUGH_REPLICAS],
    ['not the leader', ErrorCode.NOT_LEADER_OR_FOLLOWER],
    ['timed out, not in the log', ErrorCode.REQUEST_TIMED_OUT],
    ['a disk fault', ErrorCode.KAFKA_STORAGE_ERROR],
    ['corrupt on the way', ErrorCode.CORRUPT_MESSAGE],
  ])('%s: goes on without a duplicate', async (_, code) => {
    const link = await start();
    link.destination.next(PRODUCE, { kind: 'fail', code }, { times: 2 });
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.destination.requestsOf(PRODUCE).filter(isDoomed)).toHaveLength(0);
  });

  test('an error of WriteTxnMarkers says nothing: the log is read', async () => {
    const link = await start();
    link.destination.next(MARKERS, { kind: 'fail', code: ErrorCode.UNKNOWN_SERVER_ERROR });
    abortedRun(link, 6);
    link.add();
    await link.mirrored();
    link.expectEqual();
    expect(link.progress().settledBy).toBe('reply');
  });

  test('corrupt again and again: FAILED with the offset, after three new fetches', async () => {
    const link = await start();
    link.from().append(plainBatch(3));
    link.from().append(plainBatch(3));
    link.destination.next(
      PRODUCE,
      { kind: 'fail', code: ErrorCode.CORRUPT_MESSAGE },
      { times: 9, when: () => link.to().end === 3 },
    );
    link.add();
    expect(await link.failed()).toMatchObject({ code: 'bad-batch', offset: 3 });
    expect(link.destination.requestsOf(PRODUCE)).toHaveLength(5);
  });

  test('refused: FAILED naming the offset and the right that is missing', async () => {
    const link = await start();
    link.destination.next(PRODUCE, { kind: 'fail', code: ErrorCode.TOPIC_AUTHORIZATION_FAILED });
    link.from().append(plainBatch(3));
    link.add();
    const failure = await link.failed();
    expect(failure).toMatchObject({ code: 'authorization', offset: 0, retriable: true });
    expect(failure.message).toMatch(/t-0.*0\.\.2.*WRITE/);
  });
});

test('no right to write markers: read back, absent, FAILED with the right that is missing', async () => {
  const link = await start();
  link.destination.next(MARKERS, { kind: 'fail', code: ErrorCode.CLUSTER_AUTHORIZATION_FAILED });
  abortedRun(link, 3);
  link.add();
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'authorization', offset: 0, retriable: true });
  expect(failure.message).toMatch(/0\.\.3.*CLUSTER_AUTHORIZATION_FAILED.*ALTER/);
});

describe('a silent broker', () => {
  test('is waited for: the age shows, nothing is sent twice', async () => {
    const link = await start();
    const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' });
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.add();
    await held.met;
    await until('the age of the request shows', () => link.progress().requestAgeMs > 100);
    expect(link.destination.requestsOf(PRODUCE)).toHaveLength(1);
    held.release();
    await link.mirrored();
    link.expectEqual();
    expect(link.destination.requestsOf(PRODUCE)).toHaveLength(4);
  });

  test('removing a partition waits for its reply and gives the exact end', async () => {
    const link = await start();
    const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'after' });
    for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
    link.add();
    await held.met;
    const removed = link.link.remove({ topic: 't', partition: 0 }, { silenceMs: 5_000 });
    held.release();
    expect(await removed).toMatchObject({ end: 3, inProgress: false });
    expect(link.to().end).toBe(3);
    expect(link.link.progress({ topic: 't', partition: 0 })).toBeUndefined();
  });

  test('removing gives up after the time of silence, naming the broker', async () => {
    const link = await start();
    const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' });
    link.from().append(plainBatch(3));
    link.add();
    await held.met;
    await expect(link.link.remove({ topic: 't', partition: 0 }, { silenceMs: 50 })).rejects.toThrow(
      /broker 1 of west has not answered an append of 0\.\.2/,
    );
    held.release();
  });

  test('an unanswered append is not among the ends of a close', async () => {
    const topics = [{ name: 't', partitions: 2 }];
    const link = await start({ source: { topics }, destination: { brokers: 2, topics } });
    link.from(0).append(plainBatch(3));
    link.add(0);
    await link.mirrored(0);
    const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'before' }, { node: 2 });
    link.from(1).append(plainBatch(3));
    link.add(1);
    await held.met;
    expect([...(await link.link.close({ silenceMs: 50 }))]).toEqual([['t/0', 3]]);
    held.release();
  });
});

describe('someone else writes', () => {
  test('to an idle partition: FAILED within a second, both ranges named', async () => {
    const link = await start();
    link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().append(plainBatch(2, { producerId: 70n }));
    const failure = await link.failed();
    expect(failure).toMatchObject({ code: 'foreign-write', offset: 3, retriable: false });
    expect(failure.message).toMatch(/ends at 3.*3\.\.4/);
  });

  test('ahead of an append: FAILED, both ranges named', async () => {
    const link = await start({ settings: { endWatchMs: 60_000 } });
    link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().append(plainBatch(2, { producerId: 70n }));
    link.from().append(plainBatch(4));
    const failure = await link.failed();
    expect(failure).toMatchObject({ code: 'foreign-write', offset: 3 });
    expect(failure.message).toMatch(/3\.\.6.*5\.\.8/);
  });

  test('among markers: FAILED', async () => {
    const link = await start({ settings: { endWatchMs: 60_000 } });
    link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().append(plainBatch(2, { producerId: 70n }));
    abortedRun(link, 3);
    expect(await link.failed()).toMatchObject({ code: 'foreign-write', offset: 3 });
  });
});

describe('the destination leader moves', () => {
  test('to another broker: its end is read, then it goes on', async () => {
    const link = await start({ destination: { brokers: 2 } });
    for (let i = 0; i < 5; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.destination.setLeader('t', 0, 2);
    link.from().append(plainBatch(3));
    abortedRun(link, 2);
    await link.mirrored();
    link.expectEqual();
  });

  test('and the new one lost the tail: mirrored again from there', async () => {
    const link = await start({ destination: { brokers: 2 } });
    for (let i = 0; i < 5; i += 1) link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().truncate(6);
    link.destination.setLeader('t', 0, 2);
    link.from().append(plainBatch(3));
    await link.mirrored();
    link.expectEqual();
  });

  test('and the new one holds something else: FAILED before the next append', async () => {
    const link = await start({ destination: { brokers: 2 } });
    link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().append(plainBatch(1));
    link.destination.setLeader('t', 0, 2);
    expect(await link.failed()).toMatchObject({ code: 'foreign-write', offset: 3 });
    expect(link.to().end).toBe(4);
  });

  test('the high watermark lags: the end does not count before it has caught up', async () => {
    const link = await start({ destination: { brokers: 2 } });
    link.from().append(plainBatch(3));
    link.add();
    await link.mirrored();
    link.to().holdHighWatermark(1);
    link.destination.setLeader('t', 0, 2);
    link.from().append(plainBatch(3));
    await until('the error says so', () => /followers lag/.test(link.progress().error ?? ''));
    expect(link.to().end).toBe(3);
    link.to().releaseHighWatermark();
    await link.mirrored();
    link.expectEqual();
  });
});

test('random cuts of every kind of request end in equal logs', async () => {
  const topics = [{ name: 't', partitions: 5 }];
  const link = await start({ source: { topics }, destination: { brokers: 2, topics } });
  for (let p = 0; p < 5; p += 1) {
    for (let i = 0; i < 12; i += 1) {
      link.from(p).append(plainBatch(1 + (i % 3)));
      link.from(p).append(txn(1 + p, 2));
      link.from(p).append(end(1 + p, i % 3 !== 0));
    }
  }
  const keys = [PRODUCE, MARKERS, END, METADATA, PRODUCE, MARKERS];
  for (let i = 0; i < 30; i += 1) {
    link.destination.next(keys[i % keys.length] as number, {
      kind: 'cut',
      when: i % 4 < 2 ? 'after' : 'before',
    });
  }
  for (let p = 0; p < 5; p += 1) link.add(p);
  for (let p = 0; p < 5; p += 1) await link.mirrored(p);
  for (let p = 0; p < 5; p += 1) link.expectEqual(p);
  expect(link.failures).toEqual([]);
  expect(spellStored(link.to(0)).length).toBeGreaterThan(30);
});

/** Connections over which markers went. */
function markerConnections(link: LinkUnderTest): Set<number> {
  return new Set(link.destination.requestsOf(MARKERS).map((request) => request.connection));
}

/** A Produce that holds a batch which claims six offsets for one record. */
function isDoomed({ frame }: RequestInfo): boolean {
  const at = frame.length - 3 - 70;
  const batch = batchIn(frame);
  return at > 0 && batch.readInt32BE(23) === 5 && batch.readInt32BE(57) === 1;
}

/** The first batch in a Produce frame: found by its zero base offset, its magic and a length that fits. */
function batchIn(frame: Buffer): Buffer {
  for (let at = 20; at + 61 <= frame.length; at += 1) {
    const size = 12 + frame.readInt32BE(at + 8);
    const fits = size >= 61 && at + size <= frame.length;
    if (fits && frame.readBigInt64BE(at) === 0n && frame[at + 16] === 2) return frame.subarray(at, at + size);
  }
  throw new Error('no batch in the request');
}
