import type { Cluster } from '../net/cluster.ts';
import { type CompareOptions, compareTail } from './compare-tail.ts';
import type { EndReader, EndReading } from './end-reader.ts';
import { LinkFailureError, linkFailure } from './failure.ts';
import type { MirrorPartition } from './partition.ts';
import type { Limiter } from './pause.ts';
import type { SettledBy } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import type { Settler } from './settler.ts';
import { tellLost, tellUnclear } from './unclear.ts';

export interface RecoveryParts {
  readonly mirror: string;
  readonly source: Cluster;
  readonly destination: Cluster;
  readonly settings: LinkSettings;
  readonly ends: EndReader;
  readonly settler: Settler;
  /** Bounds how many tails are compared at once. */
  readonly limiter: Limiter;
}

/**
 * What a new owner does before its first append (DESIGN 5.5 rule 9): unless the former one released exactly this
 * end, some request of it may still run, so the end is settled by probing; then everything behind the persisted end
 * is compared with the source. A log that ends below the persisted end lost its tail: that is told, and mirrored again.
 * @throws LinkFailureError; GivenUpError
 */
export async function recover(
  partition: MirrorPartition,
  parts: RecoveryParts,
  signal: AbortSignal,
): Promise<void> {
  const { ref, resume } = partition;
  const topicId = resume.destinationTopicId;
  const onWait = (why: string): void => {
    partition.appendError = why;
  };
  let reading: EndReading = await parts.ends.read(ref, { topicId, signal, onWait });
  let by: SettledBy = 'released';
  if (!resume.released || reading.end !== resume.persistedEnd) {
    const reason = resume.released
      ? `the end ${resume.persistedEnd} was released, and the log ends at ${reading.end}`
      : 'the last owner ended without having released the partition';
    const told = tellUnclear(parts.mirror, ref, resume.persistedEnd, reason);
    reading = await parts.settler.probe({ ref, topicId, signal, onWait }, true);
    by = 'probe';
    told(reading.end, by);
  }
  if (reading.end > resume.persistedEnd) {
    const { end, logStart } = reading;
    onWait('the tail at the destination waits for its turn to be compared with the source');
    await parts.limiter.run((away) =>
      compareBehind(partition, parts, resume.persistedEnd, end, { logStart, signal, onWait, away }),
    );
  }
  partition.verifiedEpoch = reading.leaderEpoch;
  partition.settledBy = by;
  partition.appendError = null;
  if (reading.end < resume.persistedEnd) {
    tellLost(parts.mirror, ref, { from: reading.end, to: resume.persistedEnd });
    partition.rewindTo(reading.end, resume.persistedEnd);
    return;
  }
  partition.end = reading.end;
  partition.refetchFrom(reading.end);
}

async function compareBehind(
  partition: MirrorPartition,
  parts: RecoveryParts,
  from: number,
  to: number,
  waiting: Pick<CompareOptions, 'logStart' | 'signal' | 'onWait' | 'away'>,
): Promise<void> {
  const { ref, resume } = partition;
  const compared = await compareTail({
    source: parts.source,
    destination: parts.destination,
    settings: parts.settings,
    ref,
    from,
    to,
    sourceTopicId: resume.sourceTopicId,
    destinationTopicId: resume.destinationTopicId,
    epochBefore: (offset) => partition.epochBefore(offset),
    ...waiting,
    onMatched: (piece) => partition.foundStored(piece),
  });
  switch (compared.kind) {
    case 'equal':
      return;
    case 'unverified':
      partition.unverified = { from: compared.from, to: compared.to };
      return;
    case 'differs':
      throw new LinkFailureError(linkFailure('tail-differs', compared.message, compared.offset));
    default:
      compared satisfies never;
  }
}
