import { decodeRecord } from './codec.ts';
import type { OwnerRecord, Stored } from './types.ts';

/**
 * What was read of state partitions that are not ours yet. It stays out of the view: half read, a STOPPED partition
 * would look like one that is still mirrored. The last value of each key, in the order of the log.
 */
export class StagedRecords {
  readonly #staged: Map<number, Map<string, Uint8Array | null>>;

  constructor(partitions: number) {
    this.#staged = new Map(Array.from({ length: partitions }, (_, partition) => [partition, new Map()]));
  }

  /** false: the state partition was let through, its records go straight into the view. */
  hold(partition: number, key: string, value: Uint8Array | null): boolean {
    const staged = this.#staged.get(partition);
    if (staged === undefined) return false;
    staged.delete(key);
    // the answer's buffer is let go with the next one
    staged.set(key, value === null ? null : Uint8Array.from(value));
    return true;
  }

  holds(partition: number): boolean {
    return this.#staged.has(partition);
  }

  /** @throws StateCodecError */
  owner(partition: number): Stored<OwnerRecord> | undefined {
    const key = `owner/${partition}`;
    const value = this.#staged.get(partition)?.get(key) ?? null;
    if (value === null) return undefined;
    const record = decodeRecord(key, value);
    return record.kind === 'owner' ? record : undefined;
  }

  /** From now on nothing of the partition is held; @returns what was. */
  letThrough(partition: number): ReadonlyMap<string, Uint8Array | null> {
    const staged = this.#staged.get(partition) ?? new Map<string, Uint8Array | null>();
    this.#staged.delete(partition);
    return staged;
  }
}
