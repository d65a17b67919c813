import { fillerId } from '../../protocol/records/ids.ts';
import type { Frame } from './frame-pool.ts';

/**
 * What the transform makes of a source partition: a dense run of pieces, each covering [offset, next). How a piece
 * is written is the engine's business; here it is Produce for data and WriteTxnMarkers for everything else.
 */
export type Piece = DataPiece | MarkerPiece | InertPiece;

/** A batch as it goes on the wire: id mapped, CRC patched, base offset 0. A view on its frame. */
export interface DataPiece {
  readonly kind: 'data';
  readonly offset: number;
  readonly next: number;
  /** Source leader epoch of the batch. */
  readonly epoch: number;
  readonly bytes: Buffer;
  readonly transactional: boolean;
  readonly frame: Frame | null;
}

/** One marker at one offset: a COMMIT of the source, or the barrier of an earlier mirror (generation as coordinator epoch). */
export interface MarkerPiece {
  readonly kind: 'commit' | 'barrier';
  readonly offset: number;
  readonly next: number;
  readonly epoch: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
}

/** Offsets that hold nothing for anyone: each becomes an inert marker with the filler id of its offset. */
export interface InertPiece {
  readonly kind: 'inert';
  readonly offset: number;
  readonly next: number;
  readonly epoch: number;
}

export interface Marker {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
}

/** The marker that stands at `offset`, which lies in the piece. */
export function markerAt(piece: MarkerPiece | InertPiece, offset: number): Marker {
  if (piece.kind === 'inert') return { producerId: fillerId(offset), producerEpoch: 0, coordinatorEpoch: 0 };
  return piece;
}
