import { appendSettled, appendUnclear } from '../observe/channels.ts';
import type { PartitionRef, SettledBy } from './ports.ts';

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
