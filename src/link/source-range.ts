import type { Cluster } from '../net/cluster.ts';
import { askOffset } from './end-reader.ts';
import { linkFailure, nameOf, range } from './failure.ts';
import type { MirrorPartition } from './partition.ts';
import type { LinkFailure, PartitionRef } from './ports.ts';
import { whyNoLeader } from './topic-identity.ts';

/** What a source's log holds, asked when it does not hold the offset that was wanted, and what that means. */
const EARLIEST = -2n;
const LATEST = -1n;
const LANE = 'readback';

/** Log start and high watermark, by fresh metadata. @throws Error when the leader can't tell now */
export async function askRange(
  source: Cluster,
  ref: PartitionRef,
  timeoutMs: number,
): Promise<{ readonly start: number; readonly end: number }> {
  await source.refresh([ref.topic]);
  const leader = source.leaderOf(ref.topic, ref.partition);
  if (leader === undefined) throw new Error(whyNoLeader(source, ref));
  const connection = await source.connection(leader.nodeId, LANE, { connectTimeoutMs: timeoutMs });
  const ask = async (at: bigint): Promise<number> => {
    const asked = askOffset(connection, ref, leader.leaderEpoch, at, timeoutMs);
    const offset = await asked.catch((error: unknown) => {
      source.dropLane(leader.nodeId, LANE, 'read-back not answered');
      throw error;
    });
    if (typeof offset === 'string') throw new Error(offset);
    return offset;
  };
  return { start: await ask(EARLIEST), end: await ask(LATEST) };
}

export function diverged(partition: MirrorPartition, endOffset: number): LinkFailure {
  const { ref, fetchOffset, fetchEpoch } = partition;
  return linkFailure(
    'diverged',
    `${nameOf(ref)}: the source's log has diverged: leader epoch ${fetchEpoch}, from which the mirror holds records up to ${fetchOffset}, ends there at ${endOffset} (unclean election); ${range(endOffset, fetchOffset)} at the destination is no longer the source's, rebuild the topic`,
    endOffset,
  );
}

export function outOfRange(
  partition: MirrorPartition,
  offset: number,
  start: number,
  end: number,
): LinkFailure {
  const name = nameOf(partition.ref);
  if (offset === 0 && start > 0) {
    return linkFailure(
      'non-zero-log-start',
      `${name}: the source's log starts at ${start}, and a mirror of it would need filler for ${range(0, start)}, which comes later; exclude the topic`,
      start,
    );
  }
  if (offset < start) {
    return linkFailure(
      'retention-overtook',
      `${name}: source offsets ${range(offset, start)} were deleted by retention before they were mirrored (log start ${start}); rebuild the topic, and give the source a longer retention`,
      offset,
    );
  }
  return linkFailure(
    'diverged',
    `${name}: the mirror stands at ${offset} with source leader epoch ${partition.fetchEpoch}, but the source's log holds ${range(start, end)} and not that epoch: it has diverged (unclean election or a restored log), rebuild the topic`,
    Math.min(offset, end),
  );
}
