import type { Clock, Instant } from './clock.ts';
import { LEASE_MS, Lease } from './lease.ts';

/**
 * The right to append, per state partition. Acknowledged writes of state id 0, which beats each second, are good for
 * all of them; a write of a state partition's own id is good for that one. So mirrors go on while partition 0 is out
 * of reach, and no other costs a heartbeat while it is not.
 *
 * Whoever takes over fences id 0 before the others and owns a state partition only when that one's id is fenced too:
 * from then on no write of the older instance is acknowledged that could be good for it.
 */
export class Leases {
  readonly #leases: readonly Lease[];
  readonly #leaseMs: number;

  constructor(clock: Clock, partitions: number, leaseMs: number = LEASE_MS) {
    this.#leaseMs = leaseMs;
    this.#leases = Array.from({ length: partitions }, () => new Lease(clock, leaseMs));
  }

  /** We own the state partition. `fencedAt` as in `Lease.begin`. */
  begin(partition: number, fencedAt: number | null): void {
    this.#leases[partition]?.begin(fencedAt);
  }

  acknowledge(partition: number, sentAt: Instant): void {
    this.#leases[partition]?.acknowledge(sentAt);
  }

  /** Fenced or closed: for ever. */
  end(): void {
    for (const lease of this.#leases) lease.end();
  }

  /** ms until the older instance has stopped for certain to append to what lives here; null = not owned. */
  startsIn(partition: number): number | null {
    return this.#leases[partition]?.startsIn ?? null;
  }

  /** ms since the sending of the last acknowledged write of this state partition. */
  age(partition: number): number {
    return this.#leases[partition]?.age ?? Number.POSITIVE_INFINITY;
  }

  holds(partition: number): boolean {
    const lease = this.#leases[partition];
    if (lease === undefined) return false;
    return lease.holds || (lease.hasStarted && this.age(0) <= this.#leaseMs);
  }
}
