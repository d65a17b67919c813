const LARGEST = 256 * 1024 * 1024;

/** Cuts a byte stream into frames of four bytes of size and that many bytes; gives each with its size field. */
export class FrameCutter {
  readonly #smallest: number;
  readonly #onFrame: (sized: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  #needed = 4;

  constructor(smallest: number, onFrame: (sized: Buffer) => void) {
    this.#smallest = smallest;
    this.#onFrame = onFrame;
  }

  /** False when these can't be Kafka's frames. */
  take(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= this.#needed) {
      const all = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
      const size = all.readInt32BE(0);
      if (size < this.#smallest || size > LARGEST) return false;
      this.#needed = 4 + size;
      this.#chunks = [all];
      if (all.length < this.#needed) return true;
      const rest = all.subarray(this.#needed);
      this.#onFrame(all.subarray(0, this.#needed));
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#length = rest.length;
      this.#needed = 4;
    }
    return true;
  }
}
