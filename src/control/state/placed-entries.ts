import { encodeRecord } from './codec.ts';
import type { StateEntry } from './commit-queue.ts';
import { keyOfChange, keyOfRecord, keyText, placementOf, statePartitionOf } from './keys.ts';
import type { StateChange, StateRecord } from './types.ts';

/** Encoded entries by the state partition that they belong into. */
export class PlacedEntries {
  readonly byPartition = new Map<number, StateEntry[]>();
  readonly #partitions: number;
  readonly #ownerEpoch: number;

  constructor(partitions: number, ownerEpoch: number) {
    this.#partitions = partitions;
    this.#ownerEpoch = ownerEpoch;
  }

  change(change: StateChange): void {
    if ('put' in change) return this.record(change.put);
    const key = keyOfChange(change);
    this.#add(placementOf(key, this.#partitions), { key: keyText(key), value: null });
  }

  record(record: StateRecord): void {
    const key = keyOfRecord(record);
    const value = encodeRecord(record, this.#ownerEpoch);
    this.#add(placementOf(key, this.#partitions), { key: keyText(key), value });
  }

  /** Of a command or a result. */
  tombstone(key: string): void {
    this.#add(0, { key, value: null });
  }

  #add(home: number, entry: StateEntry): void {
    const entries = this.byPartition.get(home);
    if (entries === undefined) this.byPartition.set(home, [entry]);
    else entries.push(entry);
  }
}

/** Ends by `T/P`, sorted into the state partitions whose owner records name them. */
export function endsByHome(ends: ReadonlyMap<string, number>, partitions: number): Record<string, number>[] {
  const homes: Record<string, number>[] = Array.from({ length: partitions }, () => ({}));
  for (const [name, end] of ends) {
    const slash = name.lastIndexOf('/');
    const home = homes[statePartitionOf(name.slice(0, slash), Number(name.slice(slash + 1)), partitions)];
    if (home !== undefined) home[name] = end;
  }
  return homes;
}
