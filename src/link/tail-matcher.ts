import {
  CRC_AT,
  LOG_OVERHEAD,
  baseOffset,
  isControl,
  isTransactional,
  lastOffset,
  magic,
  producerEpoch,
  producerId,
  recordCount,
  totalSize,
} from '../../protocol/records/batch.ts';
import { readControlRecord } from '../../protocol/records/barrier.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { type DataPiece, type InertPiece, type MarkerPiece, type Piece, markerAt } from './pieces.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Compares stored batches with the pieces they should have come from: data by id, count and bytes, markers by id and
 * epochs. Base offset and leader epoch of a batch are the broker's; a marker's time is too.
 */
export interface Difference {
  readonly offset: number;
  /** What stands there, for a message. */
  readonly found: string;
}

/** Gives the piece that covers `offset`, or undefined when there is none (yet). */
export type ExpectedPiece = (offset: number) => Piece | undefined;

export class TailMatcher {
  #at: number;
  readonly #onMatched: ((piece: Piece) => void) | undefined;
  #difference: Difference | null = null;

  /**
   * @param from first offset to be compared
   * @param onMatched told each stored batch that was found equal; a run of inert offsets comes once for each
   */
  constructor(from: number, onMatched?: (piece: Piece) => void) {
    this.#at = from;
    this.#onMatched = onMatched;
  }

  /** First offset not yet found equal. */
  get matchedTo(): number {
    return this.#at;
  }

  get difference(): Difference | null {
    return this.#difference;
  }

  /**
   * Compares the stored batches of one response, those below `matchedTo` passed over, until one differs, has no
   * expected piece or reaches `to`.
   * @returns the position of the first batch not compared
   */
  compare(records: Buffer, to: number, expected: ExpectedPiece): number {
    let stoppedAt = records.length;
    const walked = walkBatches(records, 0, records.length, (at) => {
      if (magic(records, at) === 2 && lastOffset(records, at) < this.#at) return true;
      if (this.#at >= to) {
        stoppedAt = at;
        return false;
      }
      const base = baseOffset(records, at);
      if (base !== this.#at || magic(records, at) !== 2) {
        this.#difference = { offset: this.#at, found: describeStored(records, at) };
        stoppedAt = at;
        return false;
      }
      const piece = expected(base);
      if (piece === undefined) {
        stoppedAt = at;
        return false;
      }
      const same = piece.kind === 'data' ? sameData(records, at, piece) : sameMarker(records, at, piece);
      if (!same) {
        this.#difference = { offset: base, found: describeStored(records, at) };
        stoppedAt = at;
        return false;
      }
      this.#at = lastOffset(records, at) + 1;
      this.#onMatched?.(piece);
      return true;
    });
    if (walked.bad !== undefined) {
      this.#difference ??= { offset: this.#at, found: `unreadable bytes (${walked.bad.reason})` };
    }
    return Math.min(stoppedAt, walked.endedAt);
  }
}

function sameData(records: Buffer, at: number, piece: DataPiece): boolean {
  const size = totalSize(records, at);
  const mine = piece.bytes;
  if (mine.length !== size || lastOffset(records, at) !== piece.next - 1) return false;
  if (baseOffset(records, at) !== piece.offset) return false;
  // behind base offset, length and leader epoch: magic, CRC and all that the CRC covers
  return mine.compare(records, at + LOG_OVERHEAD + 4, at + size, CRC_AT - 1, size) === 0;
}

function sameMarker(records: Buffer, at: number, piece: MarkerPiece | InertPiece): boolean {
  const offset = baseOffset(records, at);
  if (!isControl(records, at) || lastOffset(records, at) !== offset) return false;
  const marker = markerAt(piece, offset);
  if (producerId(records, at) !== marker.producerId) return false;
  if (producerEpoch(records, at) !== marker.producerEpoch) return false;
  try {
    const control = readControlRecord(records, at);
    return (
      control.kind === 'end-transaction' &&
      control.type === 'COMMIT' &&
      control.coordinatorEpoch === marker.coordinatorEpoch
    );
  } catch {
    return false;
  }
}

/** One stored batch in words, for a message that names what was found instead of ours. */
export function describeStored(records: Buffer, at: number): string {
  if (magic(records, at) !== 2) return `a batch of message format ${magic(records, at)}`;
  const id = producerId(records, at);
  const epoch = producerEpoch(records, at);
  if (!isControl(records, at)) {
    const kind = isTransactional(records, at) ? 'transactional ' : '';
    const size = totalSize(records, at);
    return `a ${kind}batch of ${recordCount(records, at)} records, ${size} bytes, producer id ${id} epoch ${epoch}`;
  }
  try {
    const control = readControlRecord(records, at);
    const what =
      control.kind === 'end-transaction' ? `${control.type} marker` : `control record (${control.kind})`;
    return `a ${what} of producer id ${id} epoch ${epoch}`;
  } catch (error) {
    return `an unreadable control batch (${textOf(error)})`;
  }
}
