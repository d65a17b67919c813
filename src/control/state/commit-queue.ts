import type { RecordInput } from '../../../protocol/records/build.ts';
import type { Committed } from './transactional-producer.ts';
import { StateWriteRefused } from './retry.ts';

/**
 * Group commit of one state partition: while a transaction runs, what comes in waits, and all of it becomes the next
 * one. Order is kept, but for an urgent one, which goes to the front and whose key nobody else writes.
 */
export interface StateEntry {
  readonly key: string;
  /** null deletes. */
  readonly value: Uint8Array | null;
}

export interface PushOptions {
  readonly urgent?: boolean;
}

interface Waiting {
  readonly entries: readonly StateEntry[];
  readonly urgent: boolean;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}

type Commit = (batches: readonly (readonly RecordInput[])[]) => Promise<Committed>;

/** Bytes of one batch, well below the usual max.message.bytes, and of one transaction. */
const MAX_BATCH_BYTES = 256 * 1024;
const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;
/** Of a record beside key and value. */
const RECORD_OVERHEAD = 40;

export class CommitQueue {
  readonly #commit: Commit;
  readonly #waiting: Waiting[] = [];
  #running = false;
  #failure: { readonly error: unknown } | null = null;

  constructor(commit: Commit) {
    this.#commit = commit;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Resolves when the entries are committed. Rejects alone when the broker refuses them. */
  push(entries: readonly StateEntry[], options: PushOptions = {}): Promise<Committed> {
    if (this.#failure !== null) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => {
      const { urgent = false } = options;
      const waiting: Waiting = { entries, urgent, resolve, reject };
      if (urgent) this.#waiting.unshift(waiting);
      else this.#waiting.push(waiting);
      this.#wake();
    });
  }

  /** Ends for ever: what waits and what will come is rejected. A transaction that runs is its caller's. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #wake(): void {
    if (this.#running || this.#waiting.length === 0) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    // pushes of the same turn belong together
    await Promise.resolve();
    for (let group = this.#take(); group.length > 0; group = this.#take()) await this.#commitGroup(group);
    this.#running = false;
  }

  #take(): Waiting[] {
    const group: Waiting[] = [];
    let bytes = 0;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      bytes += next.entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
      if (group.length > 0 && bytes > MAX_TRANSACTION_BYTES) break;
      group.push(next);
      this.#waiting.shift();
    }
    return group;
  }

  async #commitGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const committed = await this.#commit(toBatches(group.flatMap(({ entries }) => entries)));
      for (const { resolve } of group) resolve(committed);
    } catch (error) {
      if (error instanceof StateWriteRefused && group.length > 1) {
        // one of them is at fault: the others must not share its fate
        for (const one of group) await this.#commitGroup([one]);
        return;
      }
      for (const { reject } of group) reject(error);
    }
  }
}

/** The last value of each key, in order, cut into batches. */
export function toBatches(entries: readonly StateEntry[], timestamp = BigInt(Date.now())): RecordInput[][] {
  const latest = new Map<string, StateEntry>();
  for (const entry of entries) {
    latest.delete(entry.key);
    latest.set(entry.key, entry);
  }
  const batches: RecordInput[][] = [];
  let bytes = MAX_BATCH_BYTES;
  for (const entry of latest.values()) {
    const size = sizeOf(entry);
    if (bytes + size > MAX_BATCH_BYTES) {
      batches.push([]);
      bytes = 0;
    }
    bytes += size;
    batches.at(-1)?.push({ key: entry.key, value: entry.value, timestamp });
  }
  return batches;
}

function sizeOf(entry: StateEntry): number {
  return RECORD_OVERHEAD + entry.key.length + (entry.value?.length ?? 0);
}
