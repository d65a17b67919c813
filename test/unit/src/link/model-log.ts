import { buildBatch } from '../../../../protocol/records/build.ts';
import { buildMarkerBatch } from '../../../../protocol/records/barrier.ts';
import type { AbortedTransaction } from '../../../../src/link/transform.ts';

/**
 * A source log written by a model of producers: it knows by itself what each offset must become, so the transform is
 * judged by something that shares no code with it.
 */
export type Fate =
  | { readonly kind: 'data'; readonly base: number; readonly bytes: Buffer; readonly producerId: bigint }
  | { readonly kind: 'inert' }
  | {
      readonly kind: 'commit';
      readonly producerId: bigint;
      readonly epoch: number;
      readonly coordinator: number;
    };

export interface ModelBatch {
  readonly base: number;
  readonly last: number;
  readonly bytes: Buffer;
  /** Decided by the end of the log; `open` transactions hold the last stable offset. */
  fate: Fate | null;
}

export type Step =
  | { readonly do: 'plain'; readonly records: number }
  | { readonly do: 'idempotent'; readonly id: number; readonly records: number }
  | { readonly do: 'txn'; readonly id: number; readonly records: number }
  | { readonly do: 'end'; readonly id: number; readonly commit: boolean }
  | { readonly do: 'unknown-control' }
  | { readonly do: 'leader-change' };

interface OpenTransaction {
  readonly firstOffset: number;
  readonly batches: ModelBatch[];
}

export class ModelLog {
  readonly batches: ModelBatch[] = [];
  readonly #open = new Map<number, OpenTransaction>();
  readonly #aborted: (AbortedTransaction & { readonly lastOffset: number })[] = [];
  #end = 0;
  #leaderEpoch = 3;

  constructor(firstOffset = 0) {
    this.#end = firstOffset;
  }

  get end(): number {
    return this.#end;
  }

  /** First offset of the earliest open transaction, else the end. */
  get lastStableOffset(): number {
    return Math.min(this.#end, ...[...this.#open.values()].map((one) => one.firstOffset));
  }

  apply(step: Step): void {
    switch (step.do) {
      case 'plain':
        this.#data(step.records, -1n, false);
        break;
      case 'idempotent':
        this.#data(step.records, 1000n + BigInt(step.id), false);
        break;
      case 'txn': {
        const batch = this.#data(step.records, BigInt(step.id), true);
        const open = this.#open.get(step.id) ?? { firstOffset: batch.base, batches: [] };
        open.batches.push(batch);
        this.#open.set(step.id, open);
        break;
      }
      case 'end':
        this.#marker(step.id, step.commit);
        break;
      case 'unknown-control':
        this.#push(this.#controlOfType(9), { kind: 'inert' });
        break;
      case 'leader-change':
        this.#leaderEpoch += 1;
        break;
      default:
        step satisfies never;
    }
  }

  /** What a READ_COMMITTED Fetch at `offset` gives: whole batches up to the last stable offset, at most `limit`. */
  fetch(offset: number, limit: number): { records: Buffer; aborted: AbortedTransaction[] } {
    const stable = this.lastStableOffset;
    const found = this.batches.filter((one) => one.last >= offset && one.last < stable).slice(0, limit);
    const upper = (found.at(-1)?.last ?? offset) + 1;
    const aborted = this.#aborted.filter((one) => one.lastOffset >= offset && one.firstOffset < upper);
    return {
      records: Buffer.concat(found.map((one) => Buffer.from(one.bytes))),
      aborted: aborted.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })),
    };
  }

  /** What must stand at each offset below the last stable one. */
  fates(from = 0): Map<number, Fate> {
    const fates = new Map<number, Fate>();
    for (const { base, last, fate } of this.batches) {
      if (base >= this.lastStableOffset) break;
      for (let offset = Math.max(base, from); offset <= last; offset += 1) fates.set(offset, fate as Fate);
    }
    return fates;
  }

  #data(records: number, producerId: bigint, transactional: boolean): ModelBatch {
    const bytes = buildBatch({
      records: Array.from({ length: records }, (_, i) => ({
        key: `k${i}`,
        value: `v${this.#end + i}`,
        timestamp: 5n,
      })),
      producerId,
      producerEpoch: producerId < 0n ? -1 : 7,
      baseSequence: producerId < 0n ? -1 : 0,
      transactional,
      ...this.#at(),
    });
    return this.#push(bytes, transactional ? null : { kind: 'data', base: this.#end, bytes, producerId });
  }

  #marker(id: number, commit: boolean): void {
    const open = this.#open.get(id);
    const base = this.#end;
    const bytes = buildMarkerBatch({
      type: commit ? 'COMMIT' : 'ABORT',
      coordinatorEpoch: 11,
      producerId: BigInt(id),
      producerEpoch: 7,
      timestamp: 6n,
      ...this.#at(),
    });
    this.#push(
      bytes,
      commit ? { kind: 'commit', producerId: BigInt(id), epoch: 7, coordinator: 11 } : { kind: 'inert' },
    );
    if (open === undefined) return;
    this.#open.delete(id);
    for (const batch of open.batches) {
      batch.fate = commit
        ? { kind: 'data', base: batch.base, bytes: batch.bytes, producerId: BigInt(id) }
        : { kind: 'inert' };
    }
    if (!commit)
      this.#aborted.push({ producerId: BigInt(id), firstOffset: open.firstOffset, lastOffset: base });
  }

  #controlOfType(type: number): Buffer {
    const key = Buffer.alloc(4);
    key.writeInt16BE(type, 2);
    return buildBatch({
      records: [{ key, value: Buffer.alloc(2), timestamp: 1n }],
      control: true,
      ...this.#at(),
    });
  }

  #at(): { baseOffset: number; partitionLeaderEpoch: number } {
    return { baseOffset: this.#end, partitionLeaderEpoch: this.#leaderEpoch };
  }

  #push(bytes: Buffer, fate: Fate | null): ModelBatch {
    const count = bytes.readInt32BE(23) + 1;
    const batch = { base: this.#end, last: this.#end + count - 1, bytes, fate };
    this.batches.push(batch);
    this.#end += count;
    return batch;
  }
}
