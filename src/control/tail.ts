import type { EpochStart } from '../link/ports.ts';
import { barrierId } from '../../protocol/records/ids.ts';
import type { StoredBatch } from './ports.ts';

/** What stands in a destination partition from the persisted end on, gathered in one pass of bounded memory. */
export interface TailScan {
  /** Offset of the first barrier of the asked hash and generation, or null. */
  readonly barrierAt: number | null;
  /** First offset behind that barrier, or null when the barrier is the last batch. */
  readonly behindBarrier: number | null;
  /** First batch with a local producer's id (0 and above), before the barrier. */
  readonly foreign: { readonly offset: number; readonly producerId: bigint } | null;
  /** Mapped ids with data and no marker, at the barrier or the end. */
  readonly openIds: readonly bigint[];
}

/** Gathers a TailScan; `openIds` are those of the persisted end. */
export class TailScanner {
  readonly #barrierId: bigint;
  readonly #generation: number;
  readonly #open: Set<bigint>;
  #barrierAt: number | null = null;
  #behind: number | null = null;
  #foreign: TailScan['foreign'] = null;

  constructor(barrier: { sourceClusterId: string; generation: number }, openIds: readonly bigint[]) {
    this.#barrierId = barrierId(barrier.sourceClusterId);
    this.#generation = barrier.generation;
    this.#open = new Set(openIds);
  }

  readonly visit = (batch: StoredBatch): void => {
    if (this.#barrierAt !== null) {
      this.#behind ??= batch.baseOffset;
      return;
    }
    if (
      batch.isControl &&
      batch.producerId === this.#barrierId &&
      batch.marker?.coordinatorEpoch === this.#generation
    ) {
      this.#barrierAt = batch.baseOffset;
      return;
    }
    if (batch.producerId >= 0n) {
      this.#foreign ??= { offset: batch.baseOffset, producerId: batch.producerId };
    } else if (batch.isControl) {
      this.#open.delete(batch.producerId);
    } else if (batch.isTransactional && batch.producerId < -1n) {
      this.#open.add(batch.producerId);
    }
  };

  result(): TailScan {
    return {
      barrierAt: this.#barrierAt,
      behindBarrier: this.#behind,
      foreign: this.#foreign,
      openIds: [...this.#open],
    };
  }
}

/** Source leader epoch of an offset, from the list kept for it; -1 when the list begins later or is empty. */
export function epochOf(epochs: readonly EpochStart[], offset: number): number {
  let epoch = -1;
  for (const start of epochs) if (start.offset <= offset) epoch = start.epoch;
  return epoch;
}
