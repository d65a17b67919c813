/** `link.maxBytesPerSecond`: whoever took bytes waits until they are paid for. Shared by all fetchers of a link. */
export class RateLimit {
  readonly #bytesPerMs: number;
  #freeAt = 0;

  /** @param bytesPerSecond null: no limit */
  constructor(bytesPerSecond: number | null) {
    this.#bytesPerMs = (bytesPerSecond ?? Number.POSITIVE_INFINITY) / 1000;
  }

  /** Monotonic time from which on the next request may be sent. */
  nextAt(now: number): number {
    return Math.max(now, this.#freeAt);
  }

  took(bytes: number, now: number): void {
    this.#freeAt = Math.max(now, this.#freeAt) + bytes / this.#bytesPerMs;
  }
}
