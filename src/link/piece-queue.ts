import type { Frame } from './frame-pool.ts';
import type { Piece } from './pieces.ts';

/** Pieces of one partition between transform and append: dense, in offset order. Data pieces hold their frames. */
export class PieceQueue {
  #items: Piece[] = [];
  #head = 0;
  #bytes = 0;

  /** Bytes of data waiting, the batch being appended included. */
  get bytes(): number {
    return this.#bytes;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  get head(): Piece | undefined {
    return this.#items[this.#head];
  }

  /** The piece `index` places behind the head. */
  at(index: number): Piece | undefined {
    return this.#items[this.#head + index];
  }

  push(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      this.#items.push(piece);
      if (piece.kind === 'data') this.#bytes += piece.bytes.length;
    }
  }

  /** Drops what lies below `offset`; a run of inert offsets may be cut, anything else never is. */
  advance(offset: number): void {
    let piece = this.head;
    while (piece !== undefined && piece.next <= offset) {
      this.#drop(piece);
      this.#items[this.#head] = undefined as never;
      this.#head += 1;
      piece = this.head;
    }
    if (piece?.kind === 'inert' && piece.offset < offset) this.#items[this.#head] = { ...piece, offset };
    if (this.#head === this.#items.length || this.#head > 256) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Drops what lies at and above `offset`, which is the edge of a piece or lies in a run of inert offsets. */
  cutAt(offset: number): void {
    for (let last = this.#items.length - 1; last >= this.#head; last -= 1) {
      const piece = this.#items[last] as Piece;
      if (piece.next <= offset) return;
      if (piece.kind === 'inert' && piece.offset < offset) {
        this.#items[last] = { ...piece, next: offset };
        return;
      }
      this.#drop(piece);
      this.#items.pop();
    }
  }

  /** Gives the batches below `offset` buffers of their own, where they hold a much larger response. */
  detach(offset: number, own: (copy: Buffer) => Frame): void {
    for (let i = this.#head; i < this.#items.length; i += 1) {
      const piece = this.#items[i] as Piece;
      if (piece.offset >= offset) return;
      if (piece.kind !== 'data' || piece.frame === null) continue;
      if (piece.frame.bytes.buffer.byteLength < 2 * piece.bytes.length) continue;
      const bytes = Buffer.from(piece.bytes);
      this.#items[i] = { ...piece, bytes, frame: own(bytes) };
      piece.frame.release();
    }
  }

  clear(): void {
    for (let i = this.#head; i < this.#items.length; i += 1) this.#drop(this.#items[i] as Piece);
    this.#items = [];
    this.#head = 0;
  }

  #drop(piece: Piece): void {
    if (piece.kind !== 'data') return;
    this.#bytes -= piece.bytes.length;
    piece.frame?.release();
  }
}
