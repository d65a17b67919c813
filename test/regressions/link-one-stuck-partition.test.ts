import { afterEach, expect, test } from 'vitest';
import { ErrorCode } from '../../protocol/errors.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { type LinkSetup, LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * A response is one buffer for many partitions, and lives as long as its slowest. A partition that can't be appended
 * (too few in-sync replicas, no leader, a lagging high watermark) must not hold the buffers that the others need.
 */
let one: LinkUnderTest;
async function start(setup: LinkSetup): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const PRODUCE = 0;
const SMALL = { bufferBytes: 256 * 1024, fetchMaxBytes: 64 * 1024 };
const topics = [{ name: 't', partitions: 2 }];

/** A trickle into partition 0 beside a stream into partition 1, so that every response holds both. */
async function feed(link: LinkUnderTest, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i += 1) {
    link.from(0).append(plainBatch(1));
    for (let k = 0; k < 6; k += 1) link.from(1).append(plainBatch(400));
    const end = link.from(1).end;
    await until('the stream is mirrored', () => link.progress(1).destinationEnd === end, { everyMs: 2 });
  }
}

/** One response and nothing more. */
const TIGHT = { bufferBytes: 100 * 1024, fetchMaxBytes: 64 * 1024 };

test('a silent broker keeps only what was sent to it, not the response that it came with', async () => {
  const link = await start({
    source: { topics },
    destination: { brokers: [1, 2], topics },
    settings: TIGHT,
  });
  link.destination.setLeader('t', 0, 2);
  link.destination.setLeader('t', 1, 1);
  const held = link.destination.next(PRODUCE, { kind: 'hold', when: 'after' }, { node: 2 });
  link.from(0).append(plainBatch(1));
  for (let k = 0; k < 6; k += 1) link.from(1).append(plainBatch(400));
  link.add(0);
  link.add(1);
  await held.met;
  await feed(link, 10);
  expect(link.progress(0).requestAgeMs).toBeGreaterThan(0);
  // the reply is lost, so the batch that was kept is what the log is compared with
  await link.destination.stopNode(2);
  await link.destination.startNode(2);
  held.release();
  await link.mirrored(0);
  await link.mirrored(1);
  link.expectEqual(0);
  link.expectEqual(1);
  expect(link.progress(0).settledBy).toBe('look');
}, 40_000);

test.each([
  [
    'too few in-sync replicas',
    (link: LinkUnderTest) => {
      const refused = link.destination.next(
        PRODUCE,
        { kind: 'fail', code: ErrorCode.NOT_ENOUGH_REPLICAS },
        { node: 2, times: 100_000 },
      );
      return () => refused.cancel();
    },
  ],
  [
    'no leader',
    (link: LinkUnderTest) => {
      link.destination.setLeader('t', 0, -1);
      return () => link.destination.setLeader('t', 0, 2);
    },
  ],
  [
    'followers that lag at a new leader epoch',
    async (link: LinkUnderTest) => {
      link.to(0).holdHighWatermark(0);
      link.to(0).newLeaderEpoch();
      await until('it is seen', () => /followers lag/.test(link.progress(0).error ?? ''));
      return () => link.to(0).releaseHighWatermark();
    },
  ],
])(
  '%s: the other partitions go on, and it comes back',
  async (_, breakIt) => {
    const link = await start({
      source: { topics },
      destination: { brokers: [1, 2], topics },
      settings: SMALL,
    });
    link.destination.setLeader('t', 0, 2);
    link.destination.setLeader('t', 1, 1);
    link.from(0).append(plainBatch(1));
    link.add(0);
    link.add(1);
    await link.mirrored(0);
    await until('both are mirrored', () => link.progress(1).phase === 'mirroring');
    const mend = await breakIt(link);
    await feed(link, 20);
    expect(link.progress(0).destinationEnd).toBe(1);
    expect(link.progress(0).error).not.toBeNull();
    mend();
    await link.mirrored(0);
    await link.mirrored(1);
    link.expectEqual(0);
    link.expectEqual(1);
  },
  40_000,
);
