import { afterEach, expect, test } from 'vitest';
import { type FakeLog, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * KAFKA-19012: a producer gave a pooled buffer away while it was still being sent; the checksum doesn't cover topic
 * and partition, so records landed elsewhere. The link's response buffers are pooled, and batches are sent out of them.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

const PARTITIONS = 60;
const stamp = (partition: number): number => 1_700_000_000_000 + partition;

/** Partitions named by the stored batches, by their time stamps. */
function owners(log: FakeLog): Set<number> {
  return new Set(log.batches.map(({ bytes }) => Number(bytes.readBigInt64BE(27)) - 1_700_000_000_000));
}

test('connections break at random while small buffers go round: no record in another partition', async () => {
  const topics = [{ name: 't', partitions: PARTITIONS }];
  link = await LinkUnderTest.start({
    source: { brokers: 2, topics },
    destination: { brokers: 2, topics },
    settings: { bufferBytes: 512 * 1024, fetchMaxBytes: 128 * 1024, maxRequestBytes: 96 * 1024 },
  });
  for (let p = 0; p < PARTITIONS; p += 1) {
    for (let i = 0; i < 6; i += 1) {
      // some small enough to be copied into the request, some sent from the response buffer itself
      const records = i % 3 === 0 ? 1_500 : 2 + (p % 7);
      link.from(p).append(plainBatch(records, { timestamp: stamp(p) }));
    }
  }
  for (let i = 0; i < 12; i += 1) {
    link.destination.next(0, { kind: 'cut', when: i % 2 === 0 ? 'after' : 'before' });
    link.source.next(1, { kind: 'cut', when: 'after' });
  }
  for (let p = 0; p < PARTITIONS; p += 1) link.add(p);
  for (let p = 0; p < PARTITIONS; p += 1) await link.mirrored(p);
  for (let p = 0; p < PARTITIONS; p += 1) {
    expect(owners(link.to(p))).toEqual(new Set([p]));
    link.expectEqual(p);
  }
});
