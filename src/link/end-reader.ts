import { errorName } from '../../protocol/errors.ts';
import { listOffsetsApi } from '../../protocol/schema/02-list-offsets.ts';
import { offsetForLeaderEpochApi } from '../../protocol/schema/23-offset-for-leader-epoch.ts';
import type { BrokerConnection } from '../net/connection.ts';
import type { Cluster } from '../net/cluster.ts';
import type { LeaderAndEpoch } from '../net/metadata.ts';
import { LinkFailureError, nameOf } from './failure.ts';
import { GONE_AFTER_MS, TopicGoneError, knownTopic, whyNoLeader } from './topic-identity.ts';
import { backoff, pause } from './pause.ts';
import type { PartitionRef } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import { textOf } from '../net/error-text.ts';

export interface EndReading {
  /** Log end offset = high watermark, both seen within one leader epoch. */
  readonly end: number;
  readonly highWatermark: number;
  readonly logStart: number;
  readonly leaderEpoch: number;
  readonly nodeId: number;
}

export interface ReadEndOptions {
  /** Refuse a topic with another id. */
  readonly topicId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told why there is no reading yet, each time it must be tried again. */
  readonly onWait?: ((why: string) => void) | undefined;
}

const LATEST = -1n;
const EARLIEST = -2n;
const LANE = 'readback';

/**
 * The true end of a destination partition (DESIGN 5.5 rule 7): at the highest leader epoch that any broker knows, by
 * OffsetForLeaderEpoch with that epoch (only the leader answers, and it answers with its log end), together with the
 * high watermark, again and again until both are equal within that epoch.
 */
export class EndReader {
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  #asked: { readonly topics: Set<string>; readonly done: Promise<void> } | null = null;

  constructor(cluster: Cluster, settings: LinkSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  /**
   * Doesn't give up by itself: a destination without leader or in-sync followers is waited for.
   * @throws LinkFailureError topic-recreated; GivenUpError when the signal ends it
   */
  async read(ref: PartitionRef, options: ReadEndOptions = {}): Promise<EndReading> {
    const { signal } = options;
    let faults = 0;
    let goneSince: number | null = null;
    for (;;) {
      let why: string;
      let wait = backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, faults);
      try {
        const leader = await this.leader(ref, options.topicId);
        goneSince = null;
        const reading = await this.#readAt(ref, leader);
        if (typeof reading !== 'string') return reading;
        why = reading;
        if (reading.startsWith('the high watermark')) wait = Math.min(wait, 200);
      } catch (error) {
        if (error instanceof TopicGoneError) {
          goneSince ??= performance.now();
          if (performance.now() - goneSince > GONE_AFTER_MS) throw error.asFailure();
        } else if (error instanceof LinkFailureError) {
          throw error;
        } else {
          // gone is what is told to be gone all the time
          goneSince = null;
        }
        why = textOf(error);
      }
      faults += 1;
      options.onWait?.(why);
      await pause(wait, signal);
    }
  }

  /**
   * The leader with the highest epoch that any broker tells. Questions asked at the same time share one sweep.
   * @throws LinkFailureError topic-recreated; TopicGoneError; Error when there is no leader
   */
  async leader(ref: PartitionRef, topicId: string | undefined): Promise<LeaderAndEpoch> {
    await this.#sweep(ref.topic);
    knownTopic(this.#cluster, ref, topicId);
    const leader = this.#cluster.leaderOf(ref.topic, ref.partition);
    if (leader === undefined) throw new Error(whyNoLeader(this.#cluster, ref));
    return leader;
  }

  /**
   * Where the leader's log ends, replicated or not: nothing that was ever committed lies above it.
   * @throws as `leader`; Error when it can't be read now
   */
  async logEnd(ref: PartitionRef, topicId: string | undefined): Promise<number> {
    const timeoutMs = this.#settings.readBackTimeoutMs;
    const { nodeId, leaderEpoch } = await this.leader(ref, topicId);
    const connection = await this.#cluster.connection(nodeId, LANE, { connectTimeoutMs: timeoutMs });
    const end = await askEnd(connection, ref, leaderEpoch, timeoutMs).catch((error: unknown) => {
      this.#cluster.dropLane(nodeId, LANE, 'read-back not answered');
      throw error;
    });
    if (typeof end === 'string') throw new Error(end);
    return end;
  }

  #sweep(topic: string): Promise<void> {
    if (this.#asked !== null) {
      this.#asked.topics.add(topic);
      return this.#asked.done;
    }
    const topics = new Set([topic]);
    const done = (async () => {
      // whoever asks within the same turn joins
      await new Promise((resolve) => setImmediate(resolve));
      this.#asked = null;
      if (this.#cluster.brokers().length === 0) await this.#cluster.refresh([]);
      const { answered } = await this.#cluster.leaderEpochFromAll(
        [...topics],
        this.#settings.readBackTimeoutMs,
      );
      // brokers may all have moved to other addresses
      if (answered.length === 0) await this.#cluster.refresh([...topics]);
    })();
    this.#asked = { topics, done };
    return done;
  }

  async #readAt(ref: PartitionRef, leader: LeaderAndEpoch): Promise<EndReading | string> {
    const timeoutMs = this.#settings.readBackTimeoutMs;
    const connection = await this.#cluster.connection(leader.nodeId, LANE, { connectTimeoutMs: timeoutMs });
    const [end, highWatermark, logStart] = await Promise.all([
      askEnd(connection, ref, leader.leaderEpoch, timeoutMs),
      askOffset(connection, ref, leader.leaderEpoch, LATEST, timeoutMs),
      askOffset(connection, ref, leader.leaderEpoch, EARLIEST, timeoutMs),
    ]).catch((error: unknown) => {
      // a connection for questions only: a silent one may be dropped
      this.#cluster.dropLane(leader.nodeId, LANE, 'read-back not answered');
      throw error;
    });
    if (typeof end === 'string') return end;
    if (typeof highWatermark === 'string') return highWatermark;
    if (typeof logStart === 'string') return logStart;
    if (end !== highWatermark) {
      return `the high watermark ${highWatermark} of ${nameOf(ref)} has not reached the log end ${end}: followers lag`;
    }
    return { end, highWatermark, logStart, leaderEpoch: leader.leaderEpoch, nodeId: leader.nodeId };
  }
}

/** Log end offset by OffsetForLeaderEpoch, or why not. */
async function askEnd(
  connection: BrokerConnection,
  ref: PartitionRef,
  epoch: number,
  timeoutMs: number,
): Promise<number | string> {
  const answer = await connection.call(
    offsetForLeaderEpochApi,
    {
      replicaId: -1,
      topics: [
        {
          topic: ref.topic,
          partitions: [{ partition: ref.partition, currentLeaderEpoch: epoch, leaderEpoch: epoch }],
        },
      ],
    },
    { timeoutMs },
  );
  const entry = answer.topics[0]?.partitions[0];
  if (entry === undefined) return `${connection.peer} did not answer for ${nameOf(ref)}`;
  if (entry.errorCode !== 0) return `${nameOf(ref)}: end not readable: ${errorName(entry.errorCode)}`;
  if (entry.endOffset < 0) return `${nameOf(ref)}: ${connection.peer} knows no end for leader epoch ${epoch}`;
  if (entry.leaderEpoch !== epoch) {
    return `${nameOf(ref)}: ${connection.peer} tells where leader epoch ${entry.leaderEpoch} ended, not ${epoch}`;
  }
  return entry.endOffset;
}

/** High watermark or log start by ListOffsets, or why not. */
export async function askOffset(
  connection: BrokerConnection,
  ref: PartitionRef,
  epoch: number,
  timestamp: bigint,
  timeoutMs: number,
): Promise<number | string> {
  const answer = await connection.call(
    listOffsetsApi,
    {
      replicaId: -1,
      isolationLevel: 0,
      topics: [
        {
          name: ref.topic,
          partitions: [{ partitionIndex: ref.partition, currentLeaderEpoch: epoch, timestamp }],
        },
      ],
    },
    // versions above 6 only add special timestamps
    { timeoutMs, maxVersion: 6 },
  );
  const entry = answer.topics[0]?.partitions[0];
  if (entry === undefined) return `${connection.peer} did not answer for ${nameOf(ref)}`;
  if (entry.errorCode !== 0) return `${nameOf(ref)}: offsets not readable: ${errorName(entry.errorCode)}`;
  return entry.offset;
}
