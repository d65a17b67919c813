import type { MirrorRolePort } from './ports.ts';

/**
 * What a `role: mirror` listener remembers of each partition while this process lives: whether a Produce is in
 * progress (one at a time, so that its expected offset is known), and the last accepted sequence of each producer id.
 *
 * The broker keeps no producer state for mapped ids, so a batch sent twice would be stored twice. Until the producer
 * entries of DESIGN 5.6 exist, an idempotent batch is taken only when it provably follows:
 *
 *   known id, same epoch     sequence = last accepted + 1
 *   known id, newer epoch    sequence 0
 *   known id, older epoch    refused (INVALID_PRODUCER_EPOCH)
 *   id not seen since start  sequence 0: anything else may be a batch that was stored before we started
 *
 * What is left is a first batch (sequence 0) stored just before a restart and sent again after it.
 */
export interface BatchIdentity {
  /** -1 for a batch without a producer: no sequence, nothing to check. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly count: number;
}

export type SequenceJudgement = 'follows' | 'out-of-order' | 'old-epoch';

/** Producer ids remembered for one partition; the one not used for longest goes first and counts as never seen. */
const MOST_PRODUCERS = 10_000;
const SEQUENCES = 2 ** 31;

export class Lane {
  readonly #producers = new Map<bigint, { epoch: number; next: number }>();
  /** Behind the last accepted batch, null: none yet. */
  #end: number | null = null;
  #busy: { promise: Promise<void>; resolve: () => void } | null = null;

  /** Resolves when the Produce in progress has ended; null when none is. */
  get free(): Promise<void> | null {
    return this.#busy?.promise ?? null;
  }

  /** Begins a Produce; the caller has seen `free` to be null. */
  take(): void {
    this.#busy = Promise.withResolvers<void>();
  }

  /** Ends it. */
  release(): void {
    const busy = this.#busy;
    this.#busy = null;
    busy?.resolve();
  }

  judge(batch: BatchIdentity): SequenceJudgement {
    if (batch.producerId === -1n) return 'follows';
    const known = this.#producers.get(batch.producerId);
    if (known !== undefined && batch.producerEpoch < known.epoch) return 'old-epoch';
    const wanted = known !== undefined && batch.producerEpoch === known.epoch ? known.next : 0;
    return batch.baseSequence === wanted ? 'follows' : 'out-of-order';
  }

  /**
   * The next batch belongs at `offset`. When that is not behind the last accepted one, a barrier came in between, or the
   * topic was made anew: the sequences were those of another log (DESIGN 5.6).
   */
  standsAt(offset: number): void {
    if (this.#end === null || this.#end === offset) return;
    this.#producers.clear();
    this.#end = null;
  }

  /** The broker stored the batch at `offset`. */
  accepted(batch: BatchIdentity, offset: number): void {
    this.#end = offset + batch.count;
    if (batch.producerId === -1n) return;
    this.#producers.delete(batch.producerId);
    if (this.#producers.size >= MOST_PRODUCERS) {
      const [oldest] = this.#producers.keys();
      if (oldest !== undefined) this.#producers.delete(oldest);
    }
    const next = (batch.baseSequence + batch.count) % SEQUENCES;
    this.#producers.set(batch.producerId, { epoch: batch.producerEpoch, next });
  }
}

export class MirrorLanes {
  readonly #lanes = new Map<string, Lane>();

  get size(): number {
    return this.#lanes.size;
  }

  /** undefined: nothing was ever let through. */
  find(mirror: string, topic: string, partition: number): Lane | undefined {
    return this.#lanes.get(`${mirror}\0${topic}\0${partition}`);
  }

  /** Made when it is not there: only for partitions of which a grant says that they exist and are ours. */
  of(mirror: string, topic: string, partition: number): Lane {
    const key = `${mirror}\0${topic}\0${partition}`;
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}

/** Two gateways may serve one mirror: their lanes must be the same. */
const lanesOf = new WeakMap<MirrorRolePort, MirrorLanes>();

export function lanesFor(port: MirrorRolePort): MirrorLanes {
  let lanes = lanesOf.get(port);
  if (lanes === undefined) {
    lanes = new MirrorLanes();
    lanesOf.set(port, lanes);
  }
  return lanes;
}
