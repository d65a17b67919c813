import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { fetchApi } from '../../protocol/schema/01-fetch.ts';
import type { Cluster } from '../net/cluster.ts';
import type { LeaderAndEpoch } from '../net/metadata.ts';
import { nameOf } from './failure.ts';
import type { PartitionRef } from './ports.ts';
import type { AbortedTransaction } from './transform.ts';

/** Fetch 16 adds addresses that we don't need; 17 and 18 add fields of followers only. */
export const FETCH_MAX_VERSION = 16;
export const READ_COMMITTED = 1;
export const READ_UNCOMMITTED = 0;

export interface OneFetch {
  readonly ref: PartitionRef;
  readonly topicId: string;
  readonly leader: LeaderAndEpoch;
  readonly offset: number;
  readonly lastFetchedEpoch?: number;
  readonly isolation: typeof READ_COMMITTED | typeof READ_UNCOMMITTED;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly lane: string;
}

export interface FetchedChunk {
  readonly records: Buffer;
  readonly aborted: readonly AbortedTransaction[];
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly logStart: number;
}

/** A Fetch answered with an error for the partition. */
export class FetchRefusedError extends Error {
  override readonly name = 'FetchRefusedError';
  readonly code: number;
  constructor(ref: PartitionRef, code: number) {
    super(`${nameOf(ref)}: Fetch was answered with ${errorName(code)}`);
    this.code = code;
  }
}

/** Nothing that ends behind the offset asked for was returned. */
export class NotReturnedError extends Error {
  override readonly name = 'NotReturnedError';
  constructor(ref: PartitionRef, offset: number) {
    super(`${nameOf(ref)}: offset ${offset} was not returned`);
  }
}

/** The log may no longer hold what was asked for: its start has moved up, or its end back. */
export function mayHaveMoved(error: unknown): boolean {
  if (error instanceof FetchRefusedError) return error.code === ErrorCode.OFFSET_OUT_OF_RANGE;
  return error instanceof NotReturnedError;
}

const NOTHING = Buffer.alloc(0);

/**
 * One Fetch of one partition, answered at once: for read-backs and comparisons, never for the data path.
 * @throws FetchRefusedError and what the connection throws; the connection is dropped on a time-out
 */
export async function fetchOnce(cluster: Cluster, wanted: OneFetch): Promise<FetchedChunk> {
  const { ref, leader, timeoutMs } = wanted;
  const connection = await cluster.connection(leader.nodeId, wanted.lane, { connectTimeoutMs: timeoutMs });
  const answer = await connection
    .call(
      fetchApi,
      {
        maxWaitMs: 0,
        minBytes: 0,
        maxBytes: wanted.maxBytes,
        isolationLevel: wanted.isolation,
        topics: [
          {
            topic: ref.topic,
            topicId: wanted.topicId,
            partitions: [
              {
                partition: ref.partition,
                currentLeaderEpoch: leader.leaderEpoch,
                fetchOffset: wanted.offset,
                lastFetchedEpoch: wanted.lastFetchedEpoch ?? -1,
                partitionMaxBytes: wanted.maxBytes,
              },
            ],
          },
        ],
        forgottenTopicsData: [],
      },
      { timeoutMs, maxVersion: FETCH_MAX_VERSION },
    )
    .catch((error: unknown) => {
      cluster.dropLane(leader.nodeId, wanted.lane, 'fetch not answered');
      throw error;
    });
  if (answer.errorCode !== 0) throw new FetchRefusedError(ref, answer.errorCode);
  const entry = answer.responses[0]?.partitions[0];
  if (entry === undefined) throw new Error(`${connection.peer} did not answer for ${nameOf(ref)}`);
  if (entry.errorCode !== ErrorCode.NONE) throw new FetchRefusedError(ref, entry.errorCode);
  if (entry.divergingEpoch.endOffset >= 0) throw new DivergedError(entry.divergingEpoch.endOffset);
  return {
    records: entry.records ?? NOTHING,
    aborted: entry.abortedTransactions ?? [],
    highWatermark: entry.highWatermark,
    lastStableOffset: entry.lastStableOffset,
    logStart: entry.logStartOffset,
  };
}

/** The source's log parts from what was fetched before, at this offset. */
export class DivergedError extends Error {
  override readonly name = 'DivergedError';
  readonly endOffset: number;
  constructor(endOffset: number) {
    super(`the log has diverged at offset ${endOffset}`);
    this.endOffset = endOffset;
  }
}
