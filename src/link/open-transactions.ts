import { producerId } from '../../protocol/records/batch.ts';
import type { Piece } from './pieces.ts';

/** Ended transactions that are kept for a log that loses its tail: few, for there may be thousands of partitions. */
const REMEMBERED = 16;
/** Of an id that a former owner wrote down: somewhere below everything that this one has seen. */
const BEFORE = -1;

interface Ended {
  readonly id: bigint;
  readonly first: number;
  readonly commit: number;
}

/**
 * Mapped ids with data at the destination and no COMMIT behind it, as of the partition's end: what a stop at this point
 * would cut. Goes back with the end when the destination loses its tail.
 */
export class OpenTransactions {
  readonly #open = new Map<bigint, number>();
  #ended: Ended[] = [];

  constructor(known: readonly bigint[] = []) {
    for (const id of known) this.#open.set(id, BEFORE);
  }

  ids(): bigint[] {
    return [...this.#open.keys()];
  }

  /** The piece stands in the log. */
  stored(piece: Piece): void {
    if (piece.kind === 'data') {
      if (!piece.transactional) return;
      const id = producerId(piece.bytes, 0);
      if (!this.#open.has(id)) this.#open.set(id, piece.offset);
    } else if (piece.kind === 'commit') {
      const first = this.#open.get(piece.producerId);
      if (first === undefined) return;
      this.#open.delete(piece.producerId);
      this.#ended.push({ id: piece.producerId, first, commit: piece.offset });
      if (this.#ended.length > 2 * REMEMBERED) this.#ended = this.#ended.slice(-REMEMBERED);
    }
  }

  /**
   * The log ends at `offset` now. What ended behind it in this run is open again, as far as that is remembered; what a
   * former owner saw end is not.
   */
  cutAt(offset: number): void {
    for (const [id, first] of this.#open) if (first >= offset) this.#open.delete(id);
    for (const { id, first, commit } of this.#ended) {
      if (first < offset && commit >= offset) this.#open.set(id, first);
    }
    this.#ended = this.#ended.filter(({ commit }) => commit < offset);
  }
}
