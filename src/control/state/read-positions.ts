import type { FetchResponse } from '../../../protocol/schema/01-fetch.ts';
import type { Freshness } from '../../gateway/ports.ts';
import { type Clock, type Instant, elapsed } from './clock.ts';
import type { CommittedRead } from './committed-records.ts';

/** Freshness of DESIGN section 7. */
export const FRESH_MS = 3_000;

/** Without an error it may be we who are slow: so long nothing is refused or given up for it. */
const SILENT_MS = 10_000;

interface Position {
  next: number;
  lso: number;
  hw: number;
  /** When the last fetch was sent whose answer showed that nothing was missing. */
  fresh: Instant | null;
  /** An answer without records though the LSO lies above: at the front of the next request it must get some. */
  starved: boolean;
  error: string;
}

interface Waiter {
  readonly done: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

type Answer = FetchResponse['responses'][number]['partitions'][number];

/**
 * How far each state partition was read and how fresh that is. Each stands for itself: one without a leader grows
 * stale alone. An answer with LSO = HW = our position says that at the moment its fetch was SENT there was nothing that
 * we had not read.
 */
export class ReadPositions {
  readonly #clock: Clock;
  readonly #positions: readonly Position[];
  readonly #waiters = new Set<Waiter>();
  #failure: Error | null = null;

  constructor(partitions: number, clock: Clock) {
    this.#clock = clock;
    this.#positions = Array.from({ length: partitions }, () => ({
      next: 0,
      lso: -1,
      hw: -1,
      fresh: null,
      starved: false,
      error: '',
    }));
  }

  /** Offset of the next record to be read. */
  next(partition: number): number {
    return this.#positions[partition]?.next ?? 0;
  }

  freshness(partition: number, now: Instant = this.#clock()): Freshness {
    const fresh = this.#positions[partition]?.fresh ?? null;
    if (fresh === null) return 'loading';
    return this.#failure === null && elapsed(fresh, now) <= FRESH_MS ? 'fresh' : 'stale';
  }

  /** It can't be read, and not for a moment only: not the same as stale, which is about what is believed. */
  isOutOfReach(partition: number): boolean {
    const position = this.#positions[partition];
    if (position === undefined || position.fresh === null) return true;
    return elapsed(position.fresh, this.#clock()) > (position.error === '' ? SILENT_MS : FRESH_MS);
  }

  /** Resolves when the partition was read to its end by a fetch sent after `moment` (performance.now). */
  caughtUp(partition: number, moment: number): Promise<void> {
    return this.#wait(() => {
      const fresh = this.#positions[partition]?.fresh ?? null;
      return fresh !== null && fresh.mono >= moment;
    });
  }

  async allCaughtUp(moment: number): Promise<void> {
    await Promise.all([...this.#positions.keys()].map((partition) => this.caughtUp(partition, moment)));
  }

  /** Resolves when the record at `offset` was read (or passed over as aborted). */
  hasRead(partition: number, offset: number): Promise<void> {
    return this.#wait(() => this.next(partition) > offset);
  }

  /** Those that must be given a batch come first. */
  inFetchOrder(partitions: readonly number[]): number[] {
    const starved = (partition: number): number => Number(this.#positions[partition]?.starved);
    return partitions.toSorted((a, b) => starved(b) - starved(a) || a - b);
  }

  /** An answer without an error. @param first of its request: it is always given a batch if there is one */
  took(answer: Answer, read: CommittedRead, sentAt: Instant, first: boolean): void {
    const position = this.#positions[answer.partitionIndex];
    if (position === undefined) return;
    position.error = '';
    position.lso = answer.lastStableOffset;
    position.hw = answer.highWatermark;
    position.next = read.next;
    // Compaction may leave nothing between us and the end.
    if (read.batches === 0 && position.next < position.lso) {
      if (first && position.starved) position.next = position.lso;
      else position.starved = true;
    } else {
      position.starved = false;
    }
    if (position.next === position.lso && position.lso === position.hw) position.fresh = sentAt;
  }

  /** Why the partition can't be read now. */
  trouble(partition: number, error: string): void {
    const position = this.#positions[partition];
    if (position !== undefined) position.error = error;
  }

  /** Nothing could be asked: those that have no trouble of their own have this one. */
  troubleOfAll(error: string): void {
    for (const position of this.#positions) if (position.error === '') position.error = error;
  }

  /** What keeps the partition from being read to its end, for an error text. */
  gap(partition: number): string {
    const position = this.#positions[partition];
    if (position === undefined) return 'there is no such partition';
    const { next, lso, hw, error } = position;
    if (error !== '') return error;
    if (hw < 0) return 'no answer yet';
    if (next >= lso && lso < hw) return `a transaction is open at offset ${lso} of ${hw}`;
    return next < lso ? `read up to ${next} of ${hw}` : 'no answer of late';
  }

  /** Partitions that were never read to their end, for an error text. */
  gaps(): string {
    const never = [...this.#positions.keys()].filter(
      (partition) => this.#positions[partition]?.fresh === null,
    );
    const shown = never.slice(0, 3).map((partition) => `partition ${partition}: ${this.gap(partition)}`);
    return [...shown, ...(never.length > 3 ? [`and ${never.length - 3} more`] : [])].join('; ');
  }

  /** After new answers. */
  checkWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.done()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Nothing is read any more: whoever waits is told. */
  end(failure: Error): void {
    this.#failure ??= failure;
    for (const { reject } of this.#waiters) reject(this.#failure);
    this.#waiters.clear();
  }

  #wait(done: () => boolean): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (done()) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ done, resolve, reject }));
  }
}
