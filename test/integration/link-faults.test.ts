import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { appendSettled } from '../../src/observe/channels.ts';
import type { FrameProxy } from '../harness/frame-proxy.ts';
import { startJava } from '../harness/java.ts';
import type { KafkaVersion } from '../harness/kafka-home.ts';
import { type ProxiedCluster, startProxiedCluster } from '../harness/proxied-cluster.ts';
import { RealLink } from '../harness/real-link.ts';
import { until } from '../harness/until.ts';

const PRODUCE = 0;
const MARKERS = 27;
const END = 23;

const { kafka44: source } = inject('clusters');

/** acks=all: an append of the link, not a probe. Behind key, version, ids and the two nullable strings. */
const isAppend = ({ frame }: { frame: Buffer }): boolean => {
  let at = 8 + 2 + frame.readInt16BE(8) + 1;
  const length = (frame[at] as number) - 1;
  at += 1 + Math.max(0, length);
  return frame.readInt16BE(at) === -1;
};

/** Each hurts the next append in its own way and resolves when it has. */
const faults: readonly (readonly [string, (proxy: FrameProxy) => Promise<void>])[] = [
  [
    'reply of data lost',
    async (proxy) => {
      const held = await proxy.holdReply(PRODUCE, { where: isAppend });
      // the broker has answered, so a look at the log must find it
      await held.reply;
      held.cut();
    },
  ],
  [
    'data cut in the middle',
    async (proxy) => (await proxy.holdRequest(PRODUCE, { where: isAppend })).cut(60),
  ],
  ['data never sent', async (proxy) => (await proxy.holdRequest(PRODUCE, { where: isAppend })).cut(0)],
  ['reply of markers lost', async (proxy) => (await proxy.holdReply(MARKERS)).cut()],
  ['markers cut in the middle', async (proxy) => (await proxy.holdRequest(MARKERS)).cut(40)],
  ['end read lost', async (proxy) => (await proxy.holdReply(END)).cut()],
  [
    'reply of data late',
    async (proxy) => {
      const held = await proxy.holdReply(PRODUCE, { where: isAppend });
      await held.reply;
      await new Promise((resolve) => setTimeout(resolve, 200));
      held.release();
    },
  ],
  [
    'every connection cut while markers are out',
    async (proxy) => {
      await proxy.holdReply(MARKERS);
      proxy.cutAll();
    },
  ],
];

describe.each<KafkaVersion>(['3.9.1', '4.4.0'])('faults between the link and a %s destination', (version) => {
  let destination: ProxiedCluster;
  beforeAll(async () => {
    destination = await startProxiedCluster({ version });
  });
  afterAll(() => destination?.destroy());

  test('every kind of lost append ends in equal logs', async () => {
    const { cluster, proxy, bootstrapThroughProxy } = destination;
    const logDirs = { 1: cluster.brokers[0]?.logDir ?? '' };
    await using link = new RealLink(
      { source, destination: { version, bootstrap: cluster.bootstrap, logDirs } },
      { through: { destination: bootstrapThroughProxy }, settings: { markerStillMs: 300 } },
    );
    const topic = `link-faults-${version}`;
    await link.mirror(topic, 2);
    const writer = startJava(source.version, 'Produce.java', [
      '--bootstrap',
      source.bootstrap,
      '--topic',
      topic,
      '--partitions',
      '2',
      '--until-stop',
      '--mode',
      'transactional',
      '--producers',
      '3',
      '--records-per-txn',
      '8',
      '--abort-every',
      '3',
      '--rate',
      '400',
    ]);
    await writer.line(/^STARTED/);
    const settled = new Set<string>();
    const unsubscribe = appendSettled.subscribe(({ topic: of, by }) => {
      if (of === topic) settled.add(by);
    });
    for (const [what, fault] of faults) {
      const ends = [0, 1].map((partition) => link.progress(topic, partition).destinationEnd);
      await fault(proxy).catch((error: unknown) => {
        throw new Error(`${what}: ${JSON.stringify(link.failures)}`, { cause: error });
      });
      await until(`both partitions go on after "${what}"`, () => {
        if (link.failures.length > 0) return true;
        return [0, 1].every(
          (partition) => link.progress(topic, partition).destinationEnd > (ends[partition] ?? 0),
        );
      });
      expect({ what, failures: link.failures }).toEqual({ what, failures: [] });
    }
    unsubscribe();
    writer.stdin.end();
    await writer.ended;
    const counts = link.expectSameBatches(topic, await link.caughtUp(topic, 2));
    expect(counts.inertForAborted).toBeGreaterThan(20);
    expect([...settled]).toEqual(expect.arrayContaining(['look', 'probe']));
  });
});
