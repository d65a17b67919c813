/**
 * What control's lifecycle asks of the outside, as narrow interfaces: the verbs, the runner and STOPPING are tested
 * against fakes of these, and only `open-control.ts` knows the real ones.
 */
import type { LinkHooks, LinkProgress, PartitionRef, ResumePoint } from '../link/ports.ts';
import type { LocalTransactions } from './local-transactions.ts';
import type { TopicWriters } from '../net/topic-writers.ts';
import type { ConfigChange, ConfigEntry } from './topic-settings.ts';

export interface TopicDescription {
  readonly name: string;
  /** 22-character base64url; all zero (`AAAAAAAAAAAAAAAAAAAAAA`) when the broker has none. */
  readonly topicId: string;
  readonly partitions: number;
}

export interface NewTopic {
  readonly name: string;
  readonly partitions: number;
  /** 0 = the cluster's default. */
  readonly replicationFactor: number;
  readonly configs: ReadonlyMap<string, string>;
}

/** Start and high watermark of a partition. */
export interface PartitionBounds {
  readonly partition: number;
  readonly start: number;
  readonly end: number;
}

/** What control reads and changes at a cluster. Every method rejects with AdminError. */
export interface ClusterAdmin {
  /** Name in the configuration. */
  readonly name: string;
  /** `host:port, …` as configured, for messages. */
  readonly bootstrap: string;
  /** Asks the cluster, never a cache: it may have been re-pointed. */
  clusterId(): Promise<string>;
  listTopics(): Promise<TopicDescription[]>;
  /**
   * Every broker is asked before a topic counts as unknown, or as another than the one of `expectedId`: the one that was
   * asked first may be cut off, or have started just now.
   */
  describeTopic(name: string, expectedId?: string): Promise<TopicDescription | null>;
  topicConfigs(name: string): Promise<ConfigEntry[]>;
  bounds(topic: string, partitions: number): Promise<PartitionBounds[]>;
  /** Transactions of the cluster's own producers that have not ended, by a look begun now. */
  localTransactions(): Promise<LocalTransactions>;
  /** Resolves with false when the topic exists already. */
  createTopic(topic: NewTopic): Promise<boolean>;
  alterTopicConfigs(topic: string, changes: readonly ConfigChange[]): Promise<void>;
}

/** A request to a cluster that failed; the message names cluster, request and, for a missing right, the way out. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  /** Kafka error code, -1 when no answer came. */
  readonly code: number;
  readonly retriable: boolean;
  /** The addresses lead to another cluster than they did. */
  readonly isWrongCluster: boolean;

  constructor(message: string, code: number, retriable: boolean, isWrongCluster = false) {
    super(message);
    this.code = code;
    this.retriable = retriable;
    this.isWrongCluster = isWrongCluster;
  }
}

/** The part of MirrorLink that the runner uses. */
export interface LinkPort {
  add(ref: PartitionRef, resume: ResumePoint): void;
  remove(
    ref: PartitionRef,
    opts?: { readonly silenceMs?: number },
  ): Promise<{ readonly end: number | null; readonly progress: LinkProgress | null }>;
  progress(ref: PartitionRef): LinkProgress | undefined;
  close(): Promise<unknown>;
}

/** Header of a stored batch, as far as STOPPING judges it. */
export interface StoredBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly isControl: boolean;
  readonly isTransactional: boolean;
  /** Of a marker: COMMIT 1, ABORT 0; null for data and unknown control types. */
  readonly marker: { readonly type: number; readonly coordinatorEpoch: number } | null;
}

/** One destination partition without a link (DestinationLog of the link). */
export interface DestinationPartition {
  readEnd(): Promise<{ readonly end: number; readonly logStart: number }>;
  /** Rule 5 of DESIGN 5.5: no request of an older owner is still running afterwards. */
  settle(): Promise<{ readonly end: number; readonly settledBy: string }>;
  readBatches(from: number, to: number, visit: (batch: StoredBatch) => void): Promise<void>;
  /** Appends the barrier at exactly this offset and reads it back. */
  appendBarrier(barrier: {
    readonly expectedOffset: number;
    readonly sourceClusterId: string;
    readonly generation: number;
  }): Promise<void>;
}

export type TailVerdict =
  | { readonly kind: 'equal' }
  | { readonly kind: 'unverified'; readonly from: number; readonly to: number; readonly why: string }
  | { readonly kind: 'differs'; readonly offset: number; readonly message: string };

/** Compares a destination tail with the source, which has `deadlineMs` to answer; never rejects. */
export type CompareTail = (
  ref: PartitionRef,
  from: number,
  to: number,
  deadlineMs: number,
) => Promise<TailVerdict>;

/** A source that answered with the expected cluster id. */
export interface SourceSession {
  readonly admin: ClusterAdmin;
  openLink(hooks: LinkHooks): LinkPort;
  readonly compareTail: CompareTail;
  /** What the source's own state topic says; empty when it has none. @throws AdminError when it can't be read */
  mirroredTopics(): Promise<readonly MirroredTopic[]>;
  close(): Promise<void>;
}

/** A topic that another Isthmus mirrors into the source cluster. */
export interface MirroredTopic {
  readonly topic: string;
  readonly sourceClusterId: string;
  /** false when all of it is STOPPED. */
  readonly active: boolean;
}

/** Everything outside that the lifecycle of one destination needs. */
export interface Surroundings {
  readonly destination: ClusterAdmin;
  /** @throws AdminError for a name that is not configured or a cluster that does not answer */
  openSource(mirror: string, source: string): Promise<SourceSession>;
  /** @param onWait told why something takes longer, each time it is tried again */
  partition(mirror: string, ref: PartitionRef, onWait?: (why: string) => void): DestinationPartition;
  /** Node id of a destination partition's leader as far as known, for messages. */
  leaderOf(ref: PartitionRef): number | undefined;
  /** Who may write to topics of the destination, by its ACLs. Rejects when it does not answer. */
  topicWriters(): Promise<TopicWriters>;
  /** `append.silenceMs` of the mirror: how long its stop waits for an append without an answer. */
  silenceMs(mirror: string): number;
  /** Wall clock in ms. */
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets go of what waits for a cluster that does not answer. */
  close(): void;
}
