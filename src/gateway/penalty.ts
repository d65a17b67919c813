import type { CloseCause } from '../net/close-cause.ts';

/**
 * Slows down addresses whose connections only ever fail (case S6): after some failures in a row each further
 * connection is left waiting before its first byte is read, twice as long each time up to a bound. One connection
 * that is served clears the count.
 */
const FREE_FAILURES = 5;
const FIRST_DELAY_MS = 100;
const FORGOTTEN_AFTER_MS = 60_000;
const MOST_ADDRESSES = 10_000;

const FAILURES: ReadonlySet<CloseCause> = new Set<CloseCause>([
  'bad-frame',
  'oversize-frame',
  'tls-bytes',
  'http-bytes',
  'request-refused',
  'upstream-connect-failed',
]);

export class PenaltyBox {
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #failures = new Map<string, { count: number; at: number }>();

  constructor(longestMs: number, now: () => number = () => performance.now()) {
    this.#longestMs = longestMs;
    this.#now = now;
  }

  /** Milliseconds that a new connection of this address has to wait. */
  delayFor(address: string): number {
    const entry = this.#failures.get(address);
    if (entry === undefined) return 0;
    if (this.#now() - entry.at > FORGOTTEN_AFTER_MS) {
      this.#failures.delete(address);
      return 0;
    }
    const over = entry.count - FREE_FAILURES;
    return over <= 0 ? 0 : Math.min(this.#longestMs, FIRST_DELAY_MS * 2 ** Math.min(over - 1, 10));
  }

  /** A connection ended. `served`: at least one of its requests was answered by a broker. */
  ended(address: string, cause: CloseCause, served: boolean): void {
    if (!FAILURES.has(cause)) {
      if (served) this.#failures.delete(address);
      return;
    }
    // at the bound the oldest goes: an attacker with many addresses is none that this could slow anyway
    if (this.#failures.size >= MOST_ADDRESSES && !this.#failures.has(address)) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
    this.#failures.set(address, { count: (this.#failures.get(address)?.count ?? 0) + 1, at: this.#now() });
  }
}
