import type { Clock } from './clock.ts';
import type { Leases } from './leases.ts';
import type { OwnerWriters } from './owner-writers.ts';
import { pause } from './retry.ts';
import type { StagedRecords } from './staged-records.ts';
import type { StateReader } from './state-reader.ts';
import { type OwnerRecord, StateUnusable, type Stored } from './types.ts';

export interface OwnershipOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly reader: StateReader;
  readonly writers: OwnerWriters;
  readonly leases: Leases;
  readonly staged: StagedRecords;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Commits the owner records of these state partitions as ours, and reads them back. */
  readonly writeOwners: (partitions: readonly number[]) => Promise<void>;
  /** Lets the records of a state partition into the view. */
  readonly reveal: (partition: number) => void;
  /** A state partition that comes late can't be used: this process may not go on. */
  readonly onFailed: (error: Error) => void;
}

/** Others than partition 0 have so long to be ready with it; then the opening goes on, and they follow by themselves. */
export const GRACE_MS = 5_000;

/**
 * Takes the state partitions over, each by itself:
 *
 *     InitProducerId of its id (the older owner is fenced) ▶ read to the end by fetches sent after that ▶ our owner
 *     record ▶ the older owner's lease is over ▶ ours: its records are in the view, what lives there may be appended to
 *
 * Partition 0 first, and without it nothing: it holds mirrors, topics and commands. Another one whose leader or
 * coordinator is away keeps only its own mirror partitions waiting.
 */
export class Ownership {
  readonly previousOwners = new Map<number, Stored<OwnerRecord>>();
  readonly #options: OwnershipOptions;
  readonly #owned = new Set<number>();
  readonly #arrivals: readonly PromiseWithResolvers<void>[];
  #incarnation = 0;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#arrivals = Array.from({ length: options.partitions }, () => Promise.withResolvers<void>());
    for (const { promise } of this.#arrivals) promise.catch(() => undefined);
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  owns(partition: number): boolean {
    return this.#owned.has(partition);
  }

  get owned(): readonly number[] {
    return [...this.#owned];
  }

  /** Resolves when the state partition is ours; rejects when it will never be. */
  arrival(partition: number): Promise<void> {
    return (this.#arrivals[partition] as PromiseWithResolvers<void>).promise;
  }

  end(error: Error): void {
    for (const { reject } of this.#arrivals) reject(error);
  }

  /** @throws StateUnusable, StateFenced, StateCodecError */
  async open(graceMs: number): Promise<void> {
    const { writers, reader, clock, partitions, signal } = this.#options;
    const fencedAt = new Map([[0, await writers.takeOver(0)]]);
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    const others = numbers.slice(1).map(async (partition) => {
      const at = await writers.takeOver(partition);
      await reader.positions.caughtUp(partition, clock().mono);
      fencedAt.set(partition, at);
      return partition;
    });
    const all = Promise.all(others);
    all.catch(() => undefined);
    await reader.positions.caughtUp(0, clock().mono);
    const grace = new AbortController();
    await Promise.race([all, pause(graceMs, AbortSignal.any([grace.signal, signal]))]).finally(() => {
      grace.abort();
    });
    const ready = [...fencedAt.keys()].toSorted((a, b) => a - b);
    for (const partition of ready) this.#notePrevious(partition);
    this.#incarnation =
      1 + Math.max(0, ...[...this.previousOwners.values()].map(({ incarnation }) => incarnation));
    for (const partition of ready) this.#options.reveal(partition);
    // partition 0 first: every other one's owner is then known there too, also while that one is away
    await this.#options.writeOwners([0]);
    await this.#options.writeOwners(ready.slice(1));
    for (const partition of ready) {
      this.#beginLease(partition, fencedAt.get(partition) as number);
      this.#arrived(partition);
    }
    for (const [at, late] of others.entries()) {
      if (!this.#owned.has(at + 1)) void this.#follow(late, fencedAt);
    }
  }

  /** One that was not ready in time. */
  async #follow(ready: Promise<number>, fencedAt: ReadonlyMap<number, number>): Promise<void> {
    const { signal, leases, topic } = this.#options;
    try {
      const partition = await ready;
      this.#notePrevious(partition);
      const known = this.previousOwners.get(partition)?.incarnation ?? 0;
      if (known > this.#incarnation) {
        throw new StateUnusable(
          `partition ${partition} of the state topic ${topic} had a later owner (incarnation ${known}) than ` +
            `partition 0 tells (${this.#incarnation - 1}): restart, now that it can be read`,
        );
      }
      await this.#options.writeOwners([partition]);
      this.#beginLease(partition, fencedAt.get(partition) as number);
      await pause(leases.startsIn(partition) ?? 0, signal);
      if (signal.aborted) return;
      this.#options.reveal(partition);
      this.#arrived(partition);
    } catch (error) {
      if (!signal.aborted) this.#options.onFailed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #notePrevious(partition: number): void {
    const previous = this.#options.staged.owner(partition);
    if (previous !== undefined) this.previousOwners.set(partition, previous);
  }

  #beginLease(partition: number, fencedAt: number): void {
    const older = [0, partition].some((one) => this.previousOwners.get(one)?.released === false);
    this.#options.leases.begin(partition, older ? fencedAt : null);
  }

  #arrived(partition: number): void {
    this.#owned.add(partition);
    this.#arrivals[partition]?.resolve();
  }
}
