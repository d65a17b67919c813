import type { Cluster } from '../../net/cluster.ts';
import { type Clock, type Instant, elapsed } from './clock.ts';
import { CommitQueue, type StateEntry } from './commit-queue.ts';
import { type Committed, TransactionalProducer } from './transactional-producer.ts';
import { StateFenced } from './types.ts';

export interface OwnerWritersOptions {
  readonly cluster: Cluster;
  readonly topic: string;
  readonly partitions: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onTrouble: (why: string) => void;
  /** At the first fenced write of any partition. */
  readonly onFenced: (error: StateFenced) => void;
  readonly onCommitted: (partition: number, committed: Committed) => void;
}

export interface WrittenTo {
  readonly partition: number;
  readonly lastOffset: number;
}

/** The owner's producers: one transactional id and one queue per state partition, all fenced together. */
export class OwnerWriters {
  readonly #options: OwnerWritersOptions;
  readonly #producers: readonly TransactionalProducer[];
  readonly #queues: readonly CommitQueue[];
  /** When the last committed transaction was sent, or the last heartbeat was queued. */
  readonly #active: Instant[];
  readonly #beating = new Set<number>();

  constructor(options: OwnerWritersOptions) {
    this.#options = options;
    const { cluster, topic, signal, clock, onTrouble } = options;
    const numbers = Array.from({ length: options.partitions }, (_, partition) => partition);
    this.#producers = numbers.map(
      (partition) =>
        new TransactionalProducer({
          cluster,
          topic,
          partition,
          transactionalId: `isthmus-state-${topic}-${partition}`,
          signal,
          clock,
          onAgain: onTrouble,
        }),
    );
    this.#queues = numbers.map((partition) => new CommitQueue((batches) => this.#run(partition, batches)));
    this.#active = numbers.map(() => clock());
  }

  /**
   * Takes every state id over, id 0 first: an older instance writes there each second, so it learns soonest.
   * @returns performance.now at which its last acknowledged write of id 0 was certainly past
   */
  async takeOver(): Promise<number> {
    const [first, ...rest] = this.#producers;
    await first?.init();
    const fencedAt = this.#options.clock().mono;
    await Promise.all(rest.map((producer) => producer.init()));
    return fencedAt;
  }

  /** One transaction per state partition. What goes to partition 0 is committed after all else of this call. */
  async commit(byPartition: ReadonlyMap<number, readonly StateEntry[]>): Promise<WrittenTo[]> {
    const push = async (partition: number, gate?: Promise<unknown>): Promise<WrittenTo> => {
      const entries = byPartition.get(partition) ?? [];
      const queue = this.#queues[partition] as CommitQueue;
      const { lastOffset } = await queue.push(entries, gate === undefined ? {} : { gate });
      return { partition, lastOffset };
    };
    const others = [...byPartition.keys()]
      .filter((partition) => partition !== 0)
      .map((partition) => push(partition));
    if (!byPartition.has(0)) return Promise.all(others);
    if (others.length === 0) return [await push(0)];
    const gate = Promise.all(others);
    // a queue that has failed already never looks at its gate
    gate.catch(() => undefined);
    return Promise.all([...others, push(0, gate)]);
  }

  /** State partitions without a write for so long, and none on its way. */
  idleFor(now: Instant, limitMs: (partition: number) => number): number[] {
    return [...this.#queues.keys()].filter(
      (partition) =>
        !this.#beating.has(partition) &&
        elapsed(this.#active[partition] as Instant, now) >= limitMs(partition),
    );
  }

  /** Before all that waits in the queue: the lease depends on it. */
  async heartbeat(partition: number, entry: StateEntry): Promise<void> {
    this.#beating.add(partition);
    try {
      await this.#queues[partition]?.push([entry], { urgent: true });
    } finally {
      this.#beating.delete(partition);
    }
  }

  fail(error: Error): void {
    for (const queue of this.#queues) queue.fail(error);
  }

  async #run(partition: number, batches: Parameters<TransactionalProducer['commit']>[0]): Promise<Committed> {
    try {
      const committed = await (this.#producers[partition] as TransactionalProducer).commit(batches);
      this.#active[partition] = committed.sentAt;
      this.#options.onCommitted(partition, committed);
      return committed;
    } catch (error) {
      if (error instanceof StateFenced) this.#options.onFenced(error);
      throw error;
    }
  }
}
