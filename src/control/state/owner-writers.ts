import type { Cluster } from '../../net/cluster.ts';
import { type Clock, type Instant, elapsed } from './clock.ts';
import { CommitQueue, type StateEntry } from './commit-queue.ts';
import { SplitCommit, type WrittenTo } from './split-commit.ts';
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

interface Writer {
  readonly producer: TransactionalProducer;
  readonly queue: CommitQueue;
  /** When the last committed transaction was sent. */
  active: Instant;
  /** When the transaction or the takeover in progress began; null when there is none. */
  busySince: Instant | null;
  /** Why it is tried again. */
  trouble: string;
  beating: boolean;
}

/**
 * The owner's producers: one transactional id and one queue per state partition. Fencing one ends all; but one that
 * can't write now holds up only what goes to it.
 */
export class OwnerWriters {
  readonly #options: OwnerWritersOptions;
  readonly #writers: readonly Writer[];
  #hasFailed = false;
  readonly #commits = new SplitCommit(async (partition, entries) => {
    const { lastOffset } = await this.#of(partition).queue.push(entries);
    return { partition, lastOffset };
  });

  constructor(options: OwnerWritersOptions) {
    this.#options = options;
    this.#writers = Array.from({ length: options.partitions }, (_, partition) => this.#writer(partition));
  }

  #writer(partition: number): Writer {
    const { cluster, topic, signal, clock, onTrouble } = this.#options;
    const producer = new TransactionalProducer({
      cluster,
      topic,
      partition,
      transactionalId: `isthmus-state-${topic}-${partition}`,
      signal,
      clock,
      onAgain: (why) => {
        writer.trouble = why;
        onTrouble(why);
      },
    });
    const writer: Writer = {
      producer,
      queue: new CommitQueue((batches) => this.#run(partition, writer, batches)),
      active: clock(),
      busySince: null,
      trouble: '',
      beating: false,
    };
    return writer;
  }

  /**
   * Takes a state id over from an older instance. Partition 0 before any other: the older one writes there each second,
   * so it learns soonest, and its writes there are good for all (`Leases`).
   * @returns performance.now at which its last acknowledged write of this id was certainly past
   */
  async takeOver(partition: number): Promise<number> {
    const { clock } = this.#options;
    const writer = this.#of(partition);
    writer.busySince = clock();
    try {
      await writer.producer.init(() => !this.#hasFailed);
      return clock().mono;
    } finally {
      writer.busySince = null;
    }
  }

  /** One transaction per state partition. What goes to partition 0 is written after all else of this call. */
  commit(byPartition: ReadonlyMap<number, readonly StateEntry[]>): Promise<WrittenTo[]> {
    return this.#commits.commit(byPartition);
  }

  /** State partitions without a write for so long, and none on its way. */
  idleFor(now: Instant, limitMs: (partition: number) => number): number[] {
    return [...this.#writers.keys()].filter((partition) => {
      const { beating, active } = this.#of(partition);
      return !beating && elapsed(active, now) >= limitMs(partition);
    });
  }

  /** Why a partition has not been written to for so long though it is tried; null when it is not so. */
  stuckFor(partition: number, limitMs: number): string | null {
    const { busySince, trouble } = this.#of(partition);
    if (busySince === null || elapsed(busySince, this.#options.clock()) < limitMs) return null;
    return trouble === '' ? 'no answer' : trouble;
  }

  /** Before all that waits in the queue: the lease depends on it. */
  async heartbeat(partition: number, entry: StateEntry): Promise<void> {
    const writer = this.#of(partition);
    writer.beating = true;
    try {
      await writer.queue.push([entry], { urgent: true });
    } finally {
      writer.beating = false;
    }
  }

  /** For ever: what waits is rejected, and nothing is taken over any more. */
  fail(error: Error): void {
    this.#hasFailed = true;
    for (const { queue } of this.#writers) queue.fail(error);
  }

  #of(partition: number): Writer {
    return this.#writers[partition] as Writer;
  }

  async #run(
    partition: number,
    writer: Writer,
    batches: Parameters<TransactionalProducer['commit']>[0],
  ): Promise<Committed> {
    const { clock, onCommitted, onFenced } = this.#options;
    writer.busySince = clock();
    try {
      const committed = await writer.producer.commit(batches);
      writer.active = committed.sentAt;
      writer.trouble = '';
      onCommitted(partition, committed);
      return committed;
    } catch (error) {
      if (error instanceof StateFenced) onFenced(error);
      throw error;
    } finally {
      writer.busySince = null;
    }
  }
}
