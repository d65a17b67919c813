import { expect, test } from 'vitest';
import { hasRoom } from '../../src/link/fetch-plan.ts';
import { MirrorPartition } from '../../src/link/partition.ts';
import type { Piece } from '../../src/link/pieces.ts';
import { defaultLinkSettings } from '../../src/link/settings.ts';

/**
 * A COMMIT marker has no bytes to queue, yet an object stands for each: ten thousand of them for each of thousands of
 * partitions would be gigabytes, whatever the budget says.
 */
const { fetchMaxBytes } = defaultLinkSettings;

function queued(markers: number): MirrorPartition {
  const resume = { sourceTopicId: '', destinationTopicId: '', persistedEnd: 0, released: true, epochs: [] };
  const partition = new MirrorPartition({ topic: 't', partition: 0 }, resume);
  const pieces = Array.from(
    { length: markers },
    (_, offset): Piece => ({
      kind: 'commit',
      offset,
      next: offset + 1,
      epoch: 0,
      producerId: -5n,
      producerEpoch: 0,
      coordinatorEpoch: 0,
    }),
  );
  partition.queue.push(pieces);
  return partition;
}

test('queued markers count against a share of the buffer', () => {
  expect(hasRoom(queued(1_000), 10, fetchMaxBytes, defaultLinkSettings)).toBe(true);
  expect(hasRoom(queued(1_000), 5_000, fetchMaxBytes, defaultLinkSettings)).toBe(false);
  expect(hasRoom(queued(10), 5_000, fetchMaxBytes, defaultLinkSettings)).toBe(true);
});
