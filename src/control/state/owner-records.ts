import { encodeRecord } from './codec.ts';
import type { StateEntry } from './commit-queue.ts';
import { keyText } from './keys.ts';
import { endsByHome } from './placed-entries.ts';
import type { OwnerRecord } from './types.ts';

export interface OwnerRecordsOptions {
  readonly partitions: number;
  readonly instanceId: string;
  readonly incarnation: () => number;
  /** Commits and reads back. */
  readonly commit: (records: readonly OwnerRecord[]) => Promise<void>;
}

/** What this instance writes of itself into each state partition: that it owns it, that it lives, that it left cleanly. */
export class OwnerRecords {
  readonly #options: OwnerRecordsOptions;

  constructor(options: OwnerRecordsOptions) {
    this.#options = options;
  }

  /** Before anything else of ours is written there. */
  claim(partitions: readonly number[]): Promise<void> {
    return this.#options.commit(partitions.map((partition) => this.#record(partition)));
  }

  heartbeat(partition: number): StateEntry {
    const record = this.#record(partition);
    return { key: keyText(record), value: encodeRecord(record, this.#options.incarnation()) };
  }

  /**
   * The last of ours, with exact ends by `T/P`. Each state partition by itself: one that can't be written keeps no other
   * from being released.
   */
  async release(partitions: readonly number[], ends: ReadonlyMap<string, number>): Promise<void> {
    const byHome = endsByHome(ends, this.#options.partitions);
    await Promise.allSettled(
      partitions.map((partition) =>
        this.#options.commit([{ ...this.#record(partition), released: true, ends: byHome[partition] ?? {} }]),
      ),
    );
  }

  #record(statePartition: number): OwnerRecord {
    return {
      kind: 'owner',
      statePartition,
      instanceId: this.#options.instanceId,
      incarnation: this.#options.incarnation(),
      released: false,
      ends: {},
      at: Date.now(),
    };
  }
}
