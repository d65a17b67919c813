/**
 * The link's side of the seam with control: control says which partitions to mirror and from where, the link says
 * how far it came and what went wrong. The link knows no states, no state topic and no verbs (DESIGN section 4).
 */

export interface PartitionRef {
  readonly topic: string;
  readonly partition: number;
}

/** First offset at which a source leader epoch was seen; the list is ascending in both (DESIGN 5.1). */
export interface EpochStart {
  readonly epoch: number;
  readonly offset: number;
}

/** What control has persisted about a partition and the link must not contradict. */
export interface ResumePoint {
  /** Topic ids, 22-character base64url; the link checks both before it reads or appends. */
  readonly sourceTopicId: string;
  readonly destinationTopicId: string;
  /** Persisted end: last mirrored offset + 1 (0 when nothing was mirrored). The true end may be higher. */
  readonly persistedEnd: number;
  /**
   * true only when the previous incarnation wrote `released: true` with exactly `persistedEnd`, or when nothing was
   * ever appended by anyone: no request of an older owner can still be running.
   */
  readonly released: boolean;
  readonly epochs: readonly EpochStart[];
  /** `openIds` of the progress that was persisted last, so that they are still known after a restart. */
  readonly openIds?: readonly bigint[];
}

/** Why a partition can't go on. Control turns it into FAILED; `retriable: false` is KIP-1279's retryAttempt -1. */
export interface LinkFailure {
  readonly code:
    | 'foreign-write'
    | 'diverged'
    | 'retention-overtook'
    | 'offset-gap'
    | 'non-zero-log-start'
    | 'log-append-time'
    | 'old-magic'
    | 'bad-batch'
    | 'producer-id-range'
    | 'offset-range'
    | 'topic-recreated'
    | 'source-topic-gone'
    | 'refused-by-broker'
    | 'authorization'
    | 'local-transaction'
    | 'tail-differs';
  /** One sentence that names topic, partition, offset or range, and the way out. */
  readonly message: string;
  readonly offset: number | null;
  readonly retriable: boolean;
}

/** How an outcome was settled after a lost connection or by a new owner (DESIGN 5.5 rule 5). */
export type SettledBy = 'none-needed' | 'released' | 'reply' | 'look' | 'probe';

export interface LinkProgress {
  readonly phase: 'recovering' | 'mirroring' | 'stopping' | 'ended';
  /** -1 while unknown. */
  readonly sourceHighWatermark: number;
  readonly sourceLastStableOffset: number;
  /** Wall clock (ms) of the last source answer, or null. */
  readonly sourceSeenAt: number | null;
  /** Log end offset of the destination as far as it is known to be ours, -1 while unknown. */
  readonly destinationEnd: number;
  /** Source leader epoch of the last mirrored batch, -1 when none. */
  readonly lastSourceEpoch: number;
  /** Text of a passing error (source unreachable, no leader, no min ISR), else null. */
  readonly error: string | null;
  /** Age in ms of the append request in progress, or 0. */
  readonly requestAgeMs: number;
  readonly settledBy: SettledBy;
  readonly counts: {
    readonly dataBatches: number;
    readonly dataBytes: number;
    readonly commitMarkers: number;
    readonly inertMarkers: number;
    readonly barriers: number;
    readonly rebuiltBatches: number;
  };
  /** What the destination held and lost (unclean election, wiped disk), until it is mirrored again; else null. */
  readonly lost: OffsetSpan | null;
  /** Mapped ids with data at the destination and no COMMIT/ABORT decision appended yet (should be empty below the LSO). */
  readonly openIds: readonly bigint[];
  /** Range of the destination's tail that the source no longer holds and that was therefore not compared, or null. */
  readonly unverified: OffsetSpan | null;
}

/** [from, to) */
export interface OffsetSpan {
  readonly from: number;
  readonly to: number;
}

export interface LinkHooks {
  /** Called before the first append of a source epoch; the append waits until it resolves (it is persisted). */
  epochBegins(partition: PartitionRef, start: EpochStart): Promise<void>;
  failed(partition: PartitionRef, failure: LinkFailure): void;
  /**
   * The destination's log ends below what was acknowledged, or persisted: it is mirrored again from `lost.from` on, and
   * nothing is appended there until this resolves (it is persisted). A later owner would not compare it otherwise.
   * @param openIds as `LinkProgress.openIds`, of the end that is left
   */
  rewound?(partition: PartitionRef, lost: OffsetSpan, openIds: readonly bigint[]): Promise<void>;
  /**
   * false = this instance is fenced, or its lease for this partition ended: nothing more of it may be sent. Asked before
   * every append.
   */
  mayAppend(partition: PartitionRef): boolean;
  /**
   * Raises `max.message.bytes` of a destination topic to at least `bytes`, at most once per batch that is too large.
   * Without it such a batch fails the partition.
   */
  raiseMaxMessageBytes?(topic: string, bytes: number): Promise<void>;
}
