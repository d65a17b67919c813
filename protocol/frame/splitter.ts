/**
 * Cuts a byte stream into frames: four bytes of size, then that many bytes. The size is judged against the cap before
 * anything is allocated. A frame that lies within one chunk is a view of it; one that spans chunks is gathered in a
 * buffer of its own, filled chunk by chunk (no repeated concatenation).
 */

import { ProtocolError } from '../protocol-error.ts';

export interface SplitterOptions {
  /** Largest size accepted, in bytes, without the four bytes of the size itself. */
  readonly capBytes: number;
  /** Smallest size accepted (default 4: a correlation id; a request header needs 10). */
  readonly minBytes?: number;
  /** Hand out frames with their four bytes of size in front, ready to be forwarded (default false). */
  readonly withSize?: boolean;
}

const SIZE_BYTES = 4;

export class FrameSplitter {
  readonly #cap: number;
  readonly #min: number;
  readonly #skip: number;
  readonly #size = Buffer.alloc(SIZE_BYTES);
  #sizeFilled = 0;
  #partial: Buffer | undefined;
  #filled = 0;
  #failed = false;

  constructor(options: SplitterOptions) {
    this.#cap = options.capBytes;
    this.#min = options.minBytes ?? SIZE_BYTES;
    this.#skip = options.withSize === true ? 0 : SIZE_BYTES;
  }

  /** Bytes held of a frame that is not complete. */
  get pendingBytes(): number {
    return this.#partial === undefined ? this.#sizeFilled : this.#filled;
  }

  /**
   * Takes the next chunk and calls `onFrame` for each frame that it completes. Frames may be views of `chunk`.
   * Throws ProtocolError on a size outside of the limits; after that the splitter takes nothing more.
   */
  push(chunk: Uint8Array, onFrame: (frame: Buffer) => void): void {
    if (this.#failed) throw new ProtocolError('frame', 'the stream was refused before');
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let at = 0;
    while (at < bytes.length) {
      if (this.#partial !== undefined) {
        at = this.#fill(bytes, at, this.#partial, onFrame);
        continue;
      }
      if (this.#sizeFilled === 0 && bytes.length - at >= SIZE_BYTES) {
        const total = SIZE_BYTES + this.#checked(bytes.readInt32BE(at));
        if (bytes.length - at >= total) {
          onFrame(bytes.subarray(at + this.#skip, at + total));
          at += total;
          continue;
        }
      }
      this.#size[this.#sizeFilled++] = bytes[at++] as number;
      if (this.#sizeFilled === SIZE_BYTES) this.#begin();
    }
  }

  #begin(): void {
    const total = SIZE_BYTES + this.#checked(this.#size.readInt32BE(0));
    this.#partial = Buffer.allocUnsafeSlow(total);
    this.#size.copy(this.#partial);
    this.#filled = SIZE_BYTES;
    this.#sizeFilled = 0;
  }

  #fill(bytes: Buffer, at: number, partial: Buffer, onFrame: (frame: Buffer) => void): number {
    const take = Math.min(partial.length - this.#filled, bytes.length - at);
    bytes.copy(partial, this.#filled, at, at + take);
    this.#filled += take;
    if (this.#filled === partial.length) {
      this.#partial = undefined;
      this.#filled = 0;
      onFrame(partial.subarray(this.#skip));
    }
    return at + take;
  }

  #checked(size: number): number {
    if (size >= this.#min && size <= this.#cap) return size;
    this.#failed = true;
    const limit = size < this.#min ? `at least ${this.#min}` : `at most ${this.#cap}`;
    throw new ProtocolError('frame', `announces ${size} bytes, ${limit} are accepted`);
  }
}
