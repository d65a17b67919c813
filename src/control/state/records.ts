/**
 * The records of the state topic (DESIGN section 6, "State topic"): one kind per key family. The wire form is
 * `state.proto`; these are the shapes the rest of control works with. Offsets and the wall clock in ms are plain numbers
 * (both are ours and below 2^53), producer ids are bigint.
 */
import type { EpochStart } from '../../link/ports.ts';

/** KIP-1279's names (kip-1279.md 2.1, late form). EPOCH_FENCING and ULE_RECOVERY are never entered here. */
export type PartitionState =
  | 'LOG_ALIGNMENT'
  | 'EPOCH_FENCING'
  | 'ULE_RECOVERY'
  | 'MIRRORING'
  | 'PAUSING'
  | 'PAUSED'
  | 'STOPPING'
  | 'STOPPED'
  | 'FAILED'
  | 'UNKNOWN';

export type DesiredState = 'MIRRORING' | 'PAUSED' | 'STOPPED';

export type Copier = 'link' | 'external';

/** `mirror/NAME`. Stays after `delete`, so that a YAML entry of that name is not created again. */
export interface MirrorRecord {
  readonly kind: 'mirror';
  readonly name: string;
  /** Name of the source in the configuration's `clusters`. */
  readonly source: string;
  readonly sourceClusterId: string;
  /** Name of the destination in the configuration's `clusters`. */
  readonly destination: string;
  /** As written in the configuration: literal names, or `/.../` for a whole-name regular expression. */
  readonly topics: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  readonly copier: Copier;
  /** `topics.replication.factor` of topics to be created; 0 = the destination's default. */
  readonly replicationFactor: number;
  readonly createdAt: number;
  /** null while the mirror exists. */
  readonly deletedAt: number | null;
}

/** `topic/T`. Kept after its mirror is deleted (mirror = null): generation and barriers outlive it. */
export interface TopicRecord {
  readonly kind: 'topic';
  readonly topic: string;
  readonly mirror: string | null;
  readonly sourceTopicId: string;
  readonly destinationTopicId: string;
  readonly partitions: number;
  readonly desired: DesiredState;
  /** How often the destination topic was mirrored, counted over all mirrors; 1 the first time. */
  readonly generation: number;
  /** The source's values of the settings of DESIGN 5.2; null = the source has no override of it. */
  readonly sourceSettings: Readonly<Record<string, string | null>>;
  /** true from STOPPED until `sourceSettings` stand at the destination again. */
  readonly configsPending: boolean;
  /** Last error of giving the settings back, or of the topic as a whole; "" when none. */
  readonly error: string;
  /** true when Isthmus created the destination topic: only then may it ever be deleted by Isthmus. */
  readonly createdByUs: boolean;
  readonly startedAt: number;
}

/** Last mirrored offset (destination end - 1 before the barrier), with the source leader epoch of its batch. */
export interface LastMirrored {
  /** -1 when nothing was mirrored. */
  readonly offset: number;
  /** -1 when not known. */
  readonly sourceEpoch: number;
}

/** A barrier in a destination partition (DESIGN 5.7); the log holds only a hash of the cluster id. */
export interface BarrierRecord {
  readonly offset: number;
  readonly generation: number;
  readonly sourceClusterId: string;
}

/** How far STOPPING has come (steps 1 to 7 of DESIGN section 6); written before what the step announces is done. */
export interface StopProgress {
  /** 1..7: the highest step whose record was written. */
  readonly step: number;
  /** From step 4 on: where the barrier belongs, else -1. */
  readonly barrierOffset: number;
  readonly generation: number;
  /** First 60 bits of SHA-256 of the source cluster id, as in the barrier's producer id. */
  readonly barrierHash: bigint;
  readonly startedAt: number;
  /** The verb's `--accept-damage`. */
  readonly acceptDamage: boolean;
}

export interface OffsetRange {
  readonly from: number;
  /** exclusive */
  readonly to: number;
  readonly why: string;
}

/** What a failover lost, cut or could not check, per partition (DESIGN promise 6). */
export interface StopReport {
  readonly finishedAt: number;
  readonly lastMirrored: number;
  /** Source high watermark as last seen, -1 when never. */
  readonly sourceEnd: number;
  /** Wall clock (ms) of `sourceEnd`, 0 when never. */
  readonly sourceEndAt: number;
  /** Mapped ids with data and no marker at the destination. */
  readonly cutTransactions: readonly bigint[];
  readonly unverified: readonly OffsetRange[];
  readonly damage: readonly OffsetRange[];
}

/** `partition/T/P`. */
export interface PartitionRecord {
  readonly kind: 'partition';
  readonly topic: string;
  readonly partition: number;
  readonly state: PartitionState;
  readonly previousState: PartitionState;
  /** -1 = not retried (KIP-1279). */
  readonly retryAttempt: number;
  /** "" when none. */
  readonly errorMessage: string;
  readonly lastMirrored: LastMirrored;
  /** Destination end as persisted: lower than the true one by up to a second of mirroring. */
  readonly persistedEnd: number;
  readonly epochs: readonly EpochStart[];
  /** Mapped ids with data below `persistedEnd` and no marker there yet: the cut transactions, should it stop here. */
  readonly openIds: readonly bigint[];
  /** What stands here and could never be compared with the source: an older owner's tail that it no longer held. */
  readonly unverified: readonly OffsetRange[];
  /** How the last unclear outcome was settled (`SettledBy` of the link's ports), "" when none was. */
  readonly settledBy: string;
  /** Of the source at start, confirmed at step 4 of a stop. */
  readonly sourceClusterId: string;
  readonly sourceTopicId: string;
  /** -1 when never seen. */
  readonly sourceEnd: number;
  /** 0 when never. */
  readonly sourceEndAt: number;
  /** null unless STOPPING, or FAILED out of STOPPING. */
  readonly stop: StopProgress | null;
  /** Of the last stop. */
  readonly report: StopReport | null;
  /** Every barrier in the partition, in offset order, over all mirrors. */
  readonly barriers: readonly BarrierRecord[];
}

/** `owner/N`, in state partition N. */
export interface OwnerRecord {
  readonly kind: 'owner';
  readonly statePartition: number;
  readonly instanceId: string;
  /** One higher at each process start or takeover. */
  readonly incarnation: number;
  /** true only as the last record of a clean stop. */
  readonly released: boolean;
  /** With `released`: exact destination ends by `T/P`, of the partitions whose records live in this state partition. */
  readonly ends: Readonly<Record<string, number>>;
  /** Wall clock (ms) at writing: the heartbeat. */
  readonly at: number;
}

/** `command/ID`: appended by any instance, taken in log order by the owner of state partition 0. */
export interface CommandRecord {
  readonly kind: 'command';
  readonly id: string;
  readonly verb: string;
  /** "" when the verb has none. */
  readonly mirror: string;
  readonly topics: readonly string[];
  readonly all: boolean;
  /** JSON object of the verb's own options. */
  readonly options: string;
  readonly issuedAt: number;
  /** Wall clock (ms): not begun by then, it ends as EXPIRED. */
  readonly deadline: number;
  readonly issuer: string;
  /** Written by the owner before it begins; 0 until then. Begun commands are finished, whatever the deadline. */
  readonly begunAt: number;
}

export interface TopicError {
  readonly topic: string;
  /** Kafka error code, 0 = done. */
  readonly code: number;
  readonly message: string;
}

/** `result/ID`: desired state is committed; tombstoned after an hour. */
export interface ResultRecord {
  readonly kind: 'result';
  readonly id: string;
  readonly ok: boolean;
  /** Kafka error code of the whole, 0 when `ok`. */
  readonly errorCode: number;
  /** "" when none. `EXPIRED: ...` for a command past its deadline. */
  readonly errorMessage: string;
  readonly topics: readonly TopicError[];
  /** JSON, "" when none. */
  readonly report: string;
  readonly finishedAt: number;
}

export type StateRecord =
  | MirrorRecord
  | TopicRecord
  | PartitionRecord
  | OwnerRecord
  | CommandRecord
  | ResultRecord;

/** As read from the log: with the incarnation of the owner that wrote it (0 for a command as submitted). */
export type Stored<R extends StateRecord> = R & { readonly ownerEpoch: number };

/** `T/P`, the name of a partition in maps and keys. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
