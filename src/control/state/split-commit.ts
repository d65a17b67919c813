import type { StateEntry } from './commit-queue.ts';

export interface WrittenTo {
  readonly partition: number;
  readonly lastOffset: number;
}

type Push = (partition: number, entries: readonly StateEntry[]) => Promise<WrittenTo>;

/**
 * One change over several state partitions: a transaction in each, that of partition 0 behind all others, since its
 * topic records announce what the partition records hold. The part for partition 0 is queued there only when the
 * others stand: queued before, it would hold up everybody's writes while one state partition has no leader. So later
 * changes pass it, but for those of the same keys: they wait for it.
 */
export class SplitCommit {
  readonly #push: Push;
  /** By key of partition 0: the last change of it that is not committed yet. */
  readonly #pending = new Map<string, Promise<unknown>>();

  constructor(push: Push) {
    this.#push = push;
  }

  commit(byPartition: ReadonlyMap<number, readonly StateEntry[]>): Promise<WrittenTo[]> {
    const others = allOf(
      [...byPartition]
        .filter(([partition]) => partition !== 0)
        .map(([partition, entries]) => this.#push(partition, entries)),
    );
    const last = byPartition.get(0);
    if (last === undefined) return others;
    const earlier = last.flatMap(({ key }) => this.#pending.get(key) ?? []);
    const isAlone = byPartition.size === 1 && earlier.length === 0;
    const written = isAlone ? this.#push(0, last).then((one) => [one]) : this.#behind(others, earlier, last);
    for (const { key } of last) this.#pending.set(key, written);
    const done = (): void => {
      for (const { key } of last) if (this.#pending.get(key) === written) this.#pending.delete(key);
    };
    written.finally(done).catch(() => undefined);
    return written;
  }

  async #behind(
    others: Promise<WrittenTo[]>,
    earlier: readonly Promise<unknown>[],
    last: readonly StateEntry[],
  ): Promise<WrittenTo[]> {
    const written = await others;
    await Promise.allSettled(earlier);
    return [...written, await this.#push(0, last)];
  }
}

/** A refusal is told when none is on its way any more: the next change of a key is made of what was written. */
async function allOf(pushes: readonly Promise<WrittenTo>[]): Promise<WrittenTo[]> {
  await Promise.allSettled(pushes);
  return Promise.all(pushes);
}
