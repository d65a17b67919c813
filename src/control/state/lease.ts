import { type Clock, type Instant, elapsed } from './clock.ts';

/** How long an acknowledged write, counted from its sending, shows that nobody has taken over. */
export const LEASE_MS = 3_000;

/**
 * Whether this instance may append to mirror partitions. Its right is shown by acknowledged state writes: each, counted
 * from its SENDING, is good for the lease. A newer instance that fenced us waits as long before its own first append,
 * so the two never append at once while their monotonic clocks run alike.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  /** performance.now at which the older instance has stopped for certain; null = not owner yet. */
  #from: number | null = null;
  #acknowledged: Instant | null = null;
  #lost = false;

  constructor(clock: Clock, leaseMs: number = LEASE_MS) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** We own the state. `fencedAt` (performance.now): when the older instance was fenced, null = there is none left. */
  begin(fencedAt: number | null): void {
    this.#from = fencedAt === null ? this.#clock().mono : fencedAt + this.#leaseMs;
  }

  acknowledge(sentAt: Instant): void {
    if (this.#acknowledged === null || sentAt.mono > this.#acknowledged.mono) this.#acknowledged = sentAt;
  }

  /** Fenced or closed: for ever. */
  end(): void {
    this.#lost = true;
  }

  /** ms until the older instance has stopped for certain; null = not owner. */
  get startsIn(): number | null {
    return this.#from === null ? null : Math.max(0, this.#from - this.#clock().mono);
  }

  /** ms since the sending of the last acknowledged write. */
  get age(): number {
    return this.#acknowledged === null
      ? Number.POSITIVE_INFINITY
      : elapsed(this.#acknowledged, this.#clock());
  }

  /** We own the state and no older instance acts any more; whether we do now, only a young write shows. */
  get hasStarted(): boolean {
    return !this.#lost && this.startsIn === 0;
  }

  get holds(): boolean {
    return this.hasStarted && this.age <= this.#leaseMs;
  }
}
