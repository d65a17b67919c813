/**
 * What the gateway asks of whoever knows the mirrors. `control` implements these interfaces and `app.ts` hands
 * them in, so that the gateway imports neither control nor link (DESIGN section 4).
 *
 * The view is synchronous because it is asked once per frame; it is never waited for in the data path.
 */

/** How much the mirrors' state can be believed now (DESIGN section 7, "freshness"). */
export type Freshness =
  /** no full read of the state topic yet: every request that the guard decodes waits */
  | 'loading'
  /** a state fetch sent less than 3 s ago answered LSO = high watermark = our position */
  | 'fresh'
  /** topics with a mirror record get NOT_LEADER_OR_FOLLOWER, others pass */
  | 'stale';

/** A topic that has a mirror record at this destination, STOPPED ones included. */
export interface GuardedTopic {
  readonly name: string;
  readonly mirror: string;
  /** Name of the source cluster, for the error text. */
  readonly source: string;
  /** true while clients may not write to this partition: every state but STOPPED. */
  isReadOnly(partition: number): boolean;
  /** true when at least one partition is not STOPPED. */
  readonly readOnly: boolean;
  /** Settings that the mirror had set are being given back, and none was refused: it is a matter of moments. */
  readonly settingsPending: boolean;
  /** State name of a partition for error texts, `UNKNOWN` when nothing is recorded. */
  stateOf(partition: number): string;
}

/** A barrier that stands in a destination partition and is shown as control type 7 on Fetch. */
export interface KnownBarrier {
  readonly offset: number;
  readonly generation: number;
  /** `""` when the hash in the log belongs to no known source. */
  readonly sourceClusterId: string;
}

export interface MirrorView {
  /**
   * Of what decides about a partition of a mirror topic, about a whole one, or about all: each is known by itself, so
   * that what is unknown of one topic refuses no other.
   */
  freshness(topic?: string, partition?: number): Freshness;
  /** Resolves once the first full read is done; rejects only when the view is closed. */
  whenLoaded(): Promise<void>;
  topic(name: string): GuardedTopic | undefined;
  /** The internal state topic's name: no client writes to it, alters or deletes it through a gateway. */
  readonly stateTopic: string;
  /** Barriers of one partition in offset order; empty for most partitions. */
  barriers(topic: string, partition: number): readonly KnownBarrier[];
  /** true when any topic has a barrier: Fetch responses are decoded only then. */
  readonly anyBarrier: boolean;
}

/** Bit sets of `authorizedOperations` as the broker gave them on the caller's own connection. */
export interface CallerRights {
  /** Cluster operations, bit n = AclOperation code n. */
  cluster(): Promise<number>;
  /** Topic operations; a topic that does not exist or may not be described is absent. */
  topics(names: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

export interface VerbCall {
  readonly apiKey: number;
  readonly apiVersion: number;
  /** Decoded request body of that API (KIP-1279 keys 94-96, 98, 99, 104, or 32001). */
  readonly body: unknown;
  readonly clientAddress: string;
  readonly clientId: string | null;
  readonly rights: CallerRights;
}

/** Answers KIP-1279's RPCs and the private key 32001. Never rejects: failures are error codes in the body. */
export interface VerbPort {
  handle(call: VerbCall): Promise<unknown>;
}

/** Where the next batch of an externally copied partition belongs (`role: mirror`, `copier: external`). */
export type MirrorRoleGrant =
  | { readonly kind: 'owned'; readonly expectedOffset: number }
  /** this instance does not own the partition, or it is not ready: NOT_LEADER_OR_FOLLOWER */
  | { readonly kind: 'not-leader'; readonly message: string }
  /** not a topic of this mirror, or the mirror has no external copier: POLICY_VIOLATION */
  | { readonly kind: 'refused'; readonly message: string };

export interface MirrorRolePort {
  grant(mirror: string, topic: string, partition: number): MirrorRoleGrant;
  /**
   * A granted append is sent now. Exactly one of `appended`, `notStored` and `failed` follows, whatever becomes of the
   * client, and until then the partition's end is not known: no barrier may be written.
   */
  begins(mirror: string, topic: string, partition: number): void;
  /** The broker accepted `count` records at the expected base offset. */
  appended(mirror: string, topic: string, partition: number, baseOffset: number, count: number): void;
  /** The broker refused it for certain, or no byte of it was sent. */
  notStored(mirror: string, topic: string, partition: number): void;
  /** The outcome of an append is not known, or not what was expected: the partition becomes FAILED. */
  failed(mirror: string, topic: string, partition: number, message: string): void;
}
