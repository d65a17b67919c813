import { appendSettled, appendUnclear, tailLost } from '../observe/channels.ts';
import type { OffsetSpan, PartitionRef, SettledBy } from './ports.ts';

/**
 * Tells whoever observes of an append whose outcome is not known.
 * @returns to be called once it is known: the end, and how it was settled (DESIGN 5.5 rule 5)
 */
export function tellUnclear(
  mirror: string,
  ref: PartitionRef,
  expectedOffset: number,
  reason: string,
): (end: number, by: SettledBy) => void {
  const { topic, partition } = ref;
  const began = performance.now();
  appendUnclear.publish({ mirror, topic, partition, expectedOffset, reason });
  return (end, by) => {
    const afterMs = Math.round(performance.now() - began);
    appendSettled.publish({ mirror, topic, partition, expectedOffset, end, by, afterMs });
  };
}

/** Tells whoever observes that a destination no longer holds what it had acknowledged. */
export function tellLost(mirror: string, { topic, partition }: PartitionRef, lost: OffsetSpan): void {
  tailLost.publish({ mirror, topic, partition, from: lost.from, to: lost.to });
}
