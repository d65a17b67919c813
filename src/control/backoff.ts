/** When to try again, by key: doubling from `firstMs` to `maxMs`, with full jitter so that a herd spreads. */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  readonly #tries = new Map<string, { attempts: number; dueAt: number }>();

  constructor(firstMs: number, maxMs: number, random: () => number = Math.random) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /** Counts a failure. @returns failures in a row so far */
  failed(key: string, now: number): number {
    const attempts = this.attempts(key) + 1;
    const ceiling = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(attempts - 1, 30));
    this.#tries.set(key, { attempts, dueAt: now + ceiling / 2 + (this.#random() * ceiling) / 2 });
    return attempts;
  }

  attempts(key: string): number {
    return this.#tries.get(key)?.attempts ?? 0;
  }

  /** A moment further away than the longest pause comes of a clock that was set back: due. */
  isDue(key: string, now: number): boolean {
    const left = (this.#tries.get(key)?.dueAt ?? 0) - now;
    return left <= 0 || left > this.#maxMs;
  }

  worked(key: string): void {
    this.#tries.delete(key);
  }
}
