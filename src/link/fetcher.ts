import { decodeResponse, encodeRequest } from '../../protocol/frame/messages.ts';
import { type FetchResponse, fetchApi } from '../../protocol/schema/01-fetch.ts';
import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import {
  type FetchPlan,
  byTopic,
  hasRoom,
  largestAnswer,
  leaderEpochOf,
  nextShares,
  planFetch,
} from './fetch-plan.ts';
import { FETCH_BY_ID, strangersBehind } from './fetched-by-name.ts';
import type { Frame, FramePool } from './frame-pool.ts';
import { FETCH_MAX_VERSION, READ_COMMITTED } from './one-fetch.ts';
import type { MirrorPartition } from './partition.ts';
import { backoff } from './pause.ts';
import type { RateLimit } from './rate-limit.ts';
import type { LinkSettings } from './settings.ts';
import { textOf } from '../net/error-text.ts';

export type FetchEntry = FetchResponse['responses'][number]['partitions'][number];

/** A timer of more than 2^31 ms fires at once: whoever waits longer looks again in between. */
const LONGEST_SLEEP_MS = 60_000;

const NO_STRANGERS: ReadonlySet<string> = new Set();

export interface FetcherHooks {
  /** A partition's answer that belongs to its present round; `frame` is held by the fetcher during the call. */
  received(partition: MirrorPartition, entry: FetchEntry, frame: Frame): void;
  /** The broker gave no answer for these partitions. */
  unreachable(partitions: readonly MirrorPartition[], why: string): void;
}

interface Asked {
  readonly partition: MirrorPartition;
  readonly round: number;
}

/**
 * Fetches from one source broker over one connection, one request at a time: while an answer is appended, the next
 * one is on its way. An ordinary consumer's Fetch, READ_COMMITTED, so the broker sends nothing above the last stable
 * offset and names the aborted transactions (DESIGN 5.1). No fetch session: a request names each partition it wants.
 */
export class Fetcher {
  readonly nodeId: number;
  readonly #lane: string;
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #pool: FramePool;
  readonly #rate: RateLimit;
  readonly #hooks: FetcherHooks;
  readonly #fetchers: () => number;
  readonly #members = new Set<MirrorPartition>();
  #connection: BrokerConnection | null = null;
  #state: 'idle' | 'opening' | 'asking' | 'waiting-for-room' | 'closed' = 'idle';
  #scheduled = false;
  #timer: NodeJS.Timeout | null = null;
  #silence: NodeJS.Timeout | null = null;
  #faults = 0;
  #notBefore = 0;
  #turn = 0;
  #shares = 1;

  constructor(
    nodeId: number,
    lane: string,
    parts: {
      readonly cluster: Cluster;
      readonly settings: LinkSettings;
      readonly pool: FramePool;
      readonly rate: RateLimit;
      readonly hooks: FetcherHooks;
      /** How many fetchers share the buffer. */
      readonly fetchers: () => number;
    },
  ) {
    this.nodeId = nodeId;
    this.#lane = lane;
    this.#cluster = parts.cluster;
    this.#settings = parts.settings;
    this.#pool = parts.pool;
    this.#rate = parts.rate;
    this.#hooks = parts.hooks;
    this.#fetchers = parts.fetchers;
  }

  get size(): number {
    return this.#members.size;
  }

  add(partition: MirrorPartition): void {
    this.#members.add(partition);
    this.nudge();
  }

  remove(partition: MirrorPartition): void {
    this.#members.delete(partition);
  }

  close(): void {
    this.#state = 'closed';
    this.#members.clear();
    this.#clearTimer();
    this.#clearSilence();
    this.#cluster.dropLane(this.nodeId, this.#lane, 'mirror link closed');
  }

  /** Part of the partition's queue was appended: fetch it again if there is room. */
  nudgeFor(partition: MirrorPartition): void {
    if (this.#state !== 'idle' || this.#scheduled) return;
    const largest = largestAnswer(this.#settings, this.#fetchers());
    if (hasRoom(partition, this.#members.size, largest, this.#settings)) this.nudge();
  }

  /** Something changed: there may be work. */
  nudge(): void {
    if (this.#state !== 'idle' || this.#scheduled) return;
    this.#scheduled = true;
    // behind the answers that are being judged in this turn
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#state !== 'idle' || this.#members.size === 0) return;
    const now = performance.now();
    const allowedAt = Math.max(this.#notBefore, this.#rate.nextAt(now));
    if (allowedAt > now) {
      this.#wakeAt(allowedAt);
      return;
    }
    const connection = this.#connection;
    if (connection === null || !connection.isOpen) {
      void this.#open();
      return;
    }
    const members = [...this.#members];
    const plan = planFetch(members, this.#turn, this.#settings, this.#fetchers(), now, this.#shares);
    if (plan.partitions.length === 0) {
      if (plan.nextAt !== null) this.#wakeAt(plan.nextAt);
      return;
    }
    if (!this.#pool.tryReserve(plan.maxBytes)) {
      this.#state = 'waiting-for-room';
      this.#pool.onRoom(() => {
        if (this.#state === 'waiting-for-room') this.#state = 'idle';
        this.nudge();
      });
      return;
    }
    this.#turn += 1;
    this.#ask(connection, plan);
  }

  #ask(connection: BrokerConnection, plan: FetchPlan): void {
    this.#clearTimer();
    this.#state = 'asking';
    const asked = new Map<string, Map<number, Asked>>();
    const version = connection.commonVersion(fetchApi, FETCH_MAX_VERSION);
    if (version === null || version < 12) {
      this.#pool.unreserve(plan.maxBytes);
      this.#failed(
        plan.partitions,
        `${connection.peer} knows no Fetch 12: the source must be Kafka 2.8 or later`,
      );
      return;
    }
    const topics = [...byTopic(plan.partitions)].map(([topic, partitions]) => {
      const topicId = (partitions[0] as MirrorPartition).resume.sourceTopicId;
      const ofTopic = new Map<number, Asked>();
      asked.set(version >= FETCH_BY_ID ? topicId : topic, ofTopic);
      return {
        topic,
        topicId,
        partitions: partitions.map((partition) => {
          partition.fetching = true;
          ofTopic.set(partition.ref.partition, { partition, round: partition.fetchRound });
          return {
            partition: partition.ref.partition,
            currentLeaderEpoch: leaderEpochOf(this.#cluster, partition),
            fetchOffset: partition.fetchOffset,
            lastFetchedEpoch: partition.fetchEpoch,
            partitionMaxBytes: plan.partitionMaxBytes,
          };
        }),
      };
    });
    const request = encodeRequest(fetchApi, version, 0, connection.clientId, {
      maxWaitMs: plan.maxWaitMs,
      minBytes: 1,
      maxBytes: plan.maxBytes,
      isolationLevel: READ_COMMITTED,
      topics,
      forgottenTopicsData: [],
    });
    this.#watchSilence(connection, plan.maxWaitMs);
    connection.sendRaw(
      [request],
      true,
      (error, bytes) => {
        this.#clearSilence();
        if (bytes === null) {
          this.#pool.unreserve(plan.maxBytes);
          this.#failed(plan.partitions, error?.message ?? 'connection lost');
          return;
        }
        const frame = this.#pool.adopt(bytes, plan.maxBytes);
        this.#rate.took(bytes.length, performance.now());
        if (strangers === null) {
          this.#answered(version, frame, plan, asked, NO_STRANGERS);
          return;
        }
        strangers.then(
          (found) => this.#answered(version, frame, plan, asked, found),
          (fault: unknown) => {
            frame.release();
            this.#failed(plan.partitions, textOf(fault));
          },
        );
      },
      this.#pool.allocate,
    );
    const strangers =
      version >= FETCH_BY_ID ? null : strangersBehind(connection, topics, this.#settings.fetchSilenceMs);
    // when the Fetch itself gets no answer, nobody waits for this one
    strangers?.catch(() => undefined);
  }

  #answered(
    version: number,
    frame: Frame,
    plan: FetchPlan,
    asked: Map<string, Map<number, Asked>>,
    strangers: ReadonlySet<string>,
  ): void {
    for (const partition of plan.partitions) partition.fetching = false;
    if (this.#state === 'closed') {
      frame.release();
      return;
    }
    let answer: FetchResponse;
    try {
      answer = decodeResponse(fetchApi, version, frame.bytes);
    } catch (fault) {
      frame.release();
      this.#failed(plan.partitions, textOf(fault));
      return;
    }
    if (answer.errorCode !== 0) {
      frame.release();
      this.#failed(plan.partitions, `Fetch was answered with error ${answer.errorCode}`);
      return;
    }
    this.#faults = 0;
    this.#shares = nextShares(this.#shares, plan, frame.bytes.length, mostOfOne(answer));
    // a broker that throttles answers at once and then reads nothing more for so long
    if (answer.throttleTimeMs > 0) {
      this.#notBefore = performance.now() + Math.min(answer.throttleTimeMs, LONGEST_SLEEP_MS);
    }
    for (const topic of answer.responses) {
      const ofTopic = asked.get(version >= FETCH_BY_ID ? topic.topicId : topic.topic);
      for (const entry of topic.partitions) {
        const one = ofTopic?.get(entry.partitionIndex);
        // dropped meanwhile: rewound, removed, moved to another broker
        if (one === undefined || one.partition.fetchRound !== one.round) continue;
        if (strangers.has(topic.topic)) {
          this.#hooks.unreachable(
            [one.partition],
            `${topic.topic} may be another topic of the same name now`,
          );
          continue;
        }
        try {
          this.#hooks.received(one.partition, entry, frame);
        } catch (fault) {
          // a fault of ours in one partition: without this the fetcher would never ask again, for any of them
          this.#hooks.unreachable([one.partition], textOf(fault));
        }
      }
    }
    frame.release();
    this.#state = 'idle';
    this.#pump();
  }

  #failed(partitions: readonly MirrorPartition[], why: string): void {
    for (const partition of partitions) partition.fetching = false;
    if (this.#state === 'closed') return;
    this.#state = 'idle';
    this.#faults += 1;
    this.#notBefore =
      performance.now() + backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, this.#faults);
    this.#wakeAt(this.#notBefore);
    this.#hooks.unreachable(partitions, why);
  }

  async #open(): Promise<void> {
    this.#state = 'opening';
    try {
      this.#connection = await this.#cluster.connection(this.nodeId, this.#lane);
    } catch (error) {
      this.#failed([...this.#members], textOf(error));
      return;
    }
    // closed meanwhile: TypeScript can't see that the state changed during the wait
    if ((this.#state as string) === 'closed') return;
    this.#state = 'idle';
    this.#pump();
  }

  /** Ends the connection when no byte of the answer came for `fetchSilenceMs`; a slow answer may take its time. */
  #watchSilence(connection: BrokerConnection, maxWaitMs: number): void {
    const { fetchSilenceMs } = this.#settings;
    let seen = 0;
    const look = (): void => {
      const have = connection.bytesBuffered;
      if (have > seen) {
        seen = have;
        this.#silence = setTimeout(look, fetchSilenceMs);
      } else {
        this.#silence = null;
        connection.end('local-close', `no answer to Fetch for ${fetchSilenceMs} ms`);
      }
    };
    this.#silence = setTimeout(look, maxWaitMs + fetchSilenceMs);
  }

  #clearSilence(): void {
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = null;
  }

  #wakeAt(at: number): void {
    this.#clearTimer();
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#pump();
      },
      Math.min(Math.max(1, at - performance.now()), LONGEST_SLEEP_MS),
    );
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function mostOfOne({ responses }: FetchResponse): number {
  let most = 0;
  for (const { partitions } of responses) {
    for (const { records } of partitions) most = Math.max(most, records?.length ?? 0);
  }
  return most;
}
