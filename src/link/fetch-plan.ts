import type { Cluster } from '../net/cluster.ts';
import type { MirrorPartition } from './partition.ts';
import type { LinkSettings } from './settings.ts';

/** What one Fetch asks, and why some partitions are left out of it. */
export interface FetchPlan {
  readonly partitions: readonly MirrorPartition[];
  /** Greatest answer that is asked for. */
  readonly maxBytes: number;
  readonly partitionMaxBytes: number;
  readonly maxWaitMs: number;
  /** Monotonic time of the next back-off that ends, or null: nobody is held back. */
  readonly nextAt: number | null;
}

/** With a full queue somewhere the broker may not hold the answer long, or that partition would starve. */
const SHORT_WAIT_MS = 20;
const SMALLEST_ANSWER = 64 * 1024;

/**
 * Chooses the partitions of the next Fetch: those whose queue has room, beginning behind the one that was first last
 * time (a broker fills an answer in the order of the request, and only the first gets a batch larger than the limit).
 * @param shares how many even shares of an answer one partition may take, see `nextShares`
 */
export function planFetch(
  members: readonly MirrorPartition[],
  turn: number,
  settings: LinkSettings,
  fetchers: number,
  now: number,
  shares = 1,
): FetchPlan {
  const partitions: MirrorPartition[] = [];
  let nextAt: number | null = null;
  let full = false;
  const largest = largestAnswer(settings, fetchers);
  for (let i = 0; i < members.length; i += 1) {
    const partition = members[(i + turn) % members.length] as MirrorPartition;
    if (!mayFetch(partition)) continue;
    if (!hasRoom(partition, members.length, largest, settings) || isSilent(partition, now, settings)) {
      full = true;
      continue;
    }
    if (partition.fetchAfter > now) {
      nextAt = Math.min(nextAt ?? partition.fetchAfter, partition.fetchAfter);
      continue;
    }
    partitions.push(partition);
  }
  return {
    partitions,
    maxBytes: largest,
    partitionMaxBytes: Math.max(
      SMALLEST_ANSWER,
      Math.min(largest, Math.ceil((2 * largest * shares) / Math.max(1, partitions.length))),
    ),
    maxWaitMs: full || nextAt !== null ? SHORT_WAIT_MS : settings.fetchMaxWaitMs,
    nextAt,
  };
}

/**
 * A round trip over a long path brings one answer, so one partition that is hot among many quiet ones must not be held to
 * its even share of it (case M18): what is left empty may be taken next time, until several fill an answer. After a large one
 * its queue is full, so the next Fetch is the others' alone.
 * @param mostOfOne bytes of the partition that gave most
 */
export function nextShares(shares: number, plan: FetchPlan, bytes: number, mostOfOne: number): number {
  const { maxBytes, partitionMaxBytes } = plan;
  const wasCut = mostOfOne > partitionMaxBytes / 2 && partitionMaxBytes < maxBytes;
  if (wasCut && bytes <= maxBytes / 2) return shares * 4;
  const isShared = bytes > (3 * maxBytes) / 4 && mostOfOne < bytes / 2;
  return isShared ? Math.max(1, shares / 2) : shares;
}

/** Heap that a queued piece takes besides its bytes: a marker has no bytes at all, and there may be very many. */
const PIECE_BYTES = 100;
/** So much of them every partition may have. */
const FEW_PIECES = 4 * 1024;

/** Its request has no outcome for long. */
export function isSilent(partition: MirrorPartition, now: number, settings: LinkSettings): boolean {
  const request = partition.request;
  return request !== null && now - request.sentAt > settings.silentAfterMs;
}

/** It has something to append and no way to do so for a while: no leader, no in-sync followers, state not written. */
export function isStuck(partition: MirrorPartition, now: number, settings: LinkSettings): boolean {
  const { at } = partition.append;
  if (at !== 'waiting' && at !== 'preparing') return false;
  return partition.queue.length > 0 && now - partition.headSince > settings.silentAfterMs;
}

function mayFetch(partition: MirrorPartition): boolean {
  if (partition.heldBack && partition.append.at !== 'idle') return false;
  return partition.phase === 'mirroring' && !partition.fetching && partition.stopAtEnd === null;
}

/** All fetchers together never book more than half of the buffer for answers still to come. */
export function largestAnswer(settings: LinkSettings, fetchers: number): number {
  const half = Math.floor(settings.bufferBytes / (2 * Math.max(1, fetchers)));
  return Math.max(
    SMALLEST_ANSWER,
    Math.min(settings.fetchMaxBytes, Math.floor(settings.bufferBytes / 4), half),
  );
}

/** A partition is asked again while it still has work for about half of its share. */
export function hasRoom(
  partition: MirrorPartition,
  members: number,
  largest: number,
  settings: LinkSettings,
): boolean {
  const share = settings.bufferBytes / 2 / Math.max(1, members);
  const enough = Math.min(largest / 2, share);
  const { bytes, length } = partition.queue;
  return bytes <= Math.max(SMALLEST_ANSWER, enough) && length * PIECE_BYTES <= Math.max(FEW_PIECES, enough);
}

/** Members of a topic stand together, as the request wants them; order is kept otherwise. */
export function byTopic(partitions: readonly MirrorPartition[]): Map<string, MirrorPartition[]> {
  return Map.groupBy(partitions, (partition) => partition.ref.topic);
}

/** Epoch with which a broker refuses a Fetch if it leads in another one; -1 asks for no check. */
export function leaderEpochOf(cluster: Cluster, partition: MirrorPartition): number {
  return cluster.leaderOf(partition.ref.topic, partition.ref.partition)?.leaderEpoch ?? -1;
}
