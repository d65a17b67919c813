import { LinkFailureError } from '../link/index.ts';
import type { PartitionRef } from '../link/ports.ts';
import { partitionStateChanged, syncError } from '../observe/channels.ts';
import { Backoff } from './backoff.ts';
import type { Ledger } from './ledger.ts';
import type { PartitionWrites } from './partition-writes.ts';
import type { CompareTail, DestinationPartition, Surroundings } from './ports.ts';
import { type MirrorRecord, StateFenced, partitionKey } from './state/types.ts';
import { describeTwice } from './prepare-topic.ts';
import { type KnownEnd, StopFailed, runStop } from './stopping.ts';
import { within } from './within.ts';
import { textOf } from '../net/error-text.ts';

export interface StopRunnerOptions {
  readonly mirror: MirrorRecord;
  readonly surroundings: Surroundings;
  readonly ledger: Ledger;
  readonly writes: PartitionWrites;
  /** Resolves when an older owner can append no more: what is read and judged before may still change. */
  whenMayAppend(ref: PartitionRef): Promise<void>;
  endLink(ref: PartitionRef): Promise<KnownEnd | null>;
  /** null while the source does not answer. */
  compareTail(): Promise<CompareTail | null>;
  releasedEnd(ref: PartitionRef): number | null;
  emptyProducerEntries(ref: PartitionRef): void;
}

/**
 * Runs STOPPING for the partitions of a mirror, several at a time. A destination that does not answer is waited for,
 * for ever: only what STOPPING or the link judges becomes FAILED. Whoever waits long gives its place to another, so
 * partitions without a leader hold up nobody else's failover.
 */
export class StopRunner {
  readonly #options: StopRunnerOptions;
  readonly #running = new Map<string, { readonly run: Promise<void>; readonly since: number }>();
  readonly #backoff = new Backoff(250, 10_000);
  readonly #trouble = new Map<string, string>();
  /** What the stops that run are waiting for: no leader, followers that lag, a broker that is silent. */
  readonly #waits = new Map<string, string>();
  #closed = false;

  constructor(options: StopRunnerOptions) {
    this.#options = options;
  }

  isRunning(ref: PartitionRef): boolean {
    return this.#running.has(partitionKey(ref.topic, ref.partition));
  }

  trouble(topic: string): string | null {
    for (const messages of [this.#waits, this.#trouble]) {
      for (const [key, message] of messages) if (key.startsWith(`${topic}/`)) return message;
    }
    return null;
  }

  /** Goes on with the stop of a partition in STOPPING, unless it runs already or waits for its next try. */
  ensure(ref: PartitionRef): void {
    const key = partitionKey(ref.topic, ref.partition);
    if (this.#closed || this.#running.has(key)) return;
    const now = this.#options.surroundings.now();
    if (this.#taken(now) >= atOnce || !this.#backoff.isDue(key, now)) return;
    const run = this.#run(ref, key).finally(() => {
      this.#running.delete(key);
      this.#waits.delete(key);
    });
    this.#running.set(key, { run, since: now });
  }

  #taken(now: number): number {
    let taken = 0;
    for (const { since } of this.#running.values()) if (now - since < placeMs) taken += 1;
    return taken;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([...this.#running.values()].map(({ run }) => run));
  }

  async #run(ref: PartitionRef, key: string): Promise<void> {
    const { surroundings, ledger, mirror } = this.#options;
    try {
      await this.#options.whenMayAppend(ref);
      const log = await this.#log(ref);
      await runStop({
        mirror: mirror.name,
        ref,
        ledger,
        log,
        endLink: () => this.#options.endLink(ref),
        releasedEnd: this.#options.releasedEnd(ref),
        compareTail: () => this.#compareTail(),
        emptyProducerEntries: () => this.#options.emptyProducerEntries(ref),
        now: () => surroundings.now(),
      });
      this.#backoff.worked(key);
      this.#trouble.delete(key);
      partitionStateChanged.publish({
        mirror: mirror.name,
        ...ref,
        from: 'STOPPING',
        to: 'STOPPED',
        error: null,
      });
    } catch (error) {
      await this.#failed(ref, key, error);
    }
  }

  async #failed(ref: PartitionRef, key: string, error: unknown): Promise<void> {
    if (error instanceof StateFenced || this.#closed) return;
    const message = textOf(error);
    const attempts = this.#backoff.failed(key, this.#options.surroundings.now());
    const isNew = this.#trouble.get(key) !== message;
    this.#trouble.set(key, message);
    const retriable = canRetry(error);
    if (retriable === null) {
      if (isNew) this.#note(error);
      return;
    }
    await this.#options.writes
      .stopFailed(ref, message, retriable, attempts - 1)
      .catch((cause: unknown) => this.#note(cause));
  }

  /** The source has so long to open; a comparison has a deadline of its own. */
  async #compareTail(): Promise<CompareTail | null> {
    const { surroundings } = this.#options;
    return (await within(openSourceMs, this.#options.compareTail(), surroundings)) ?? null;
  }

  #note(error: unknown): void {
    const message = textOf(error);
    syncError.publish({ mirror: this.#options.mirror.name, task: 'stop', message });
  }

  /** null when there is no topic to write a barrier into. */
  async #log(ref: PartitionRef): Promise<DestinationPartition | null> {
    const { surroundings, ledger, mirror } = this.#options;
    const topic = ledger.view.topics.get(ref.topic);
    const expected = topic?.destinationTopicId ?? '';
    const found = await describeTwice(
      surroundings.destination,
      ref.topic,
      (ms) => surroundings.sleep(ms),
      expected === '' ? undefined : expected,
    );
    if (found === null) return null;
    if (expected === '') return null;
    const record = ledger.view.partitions.get(partitionKey(ref.topic, ref.partition));
    if (found.topicId !== expected && record?.stop?.acceptDamage !== true) {
      throw new StopFailed(
        `the destination topic ${ref.topic} was created anew (topic id ${expected}, now ${found.topicId}); stop ` +
          'again with --accept-damage to give the mirror up',
        false,
      );
    }
    if (found.topicId !== expected) return null;
    const key = partitionKey(ref.topic, ref.partition);
    return surroundings.partition(mirror.name, ref, (why) => void this.#waits.set(key, why));
  }
}

/** Each stop may hold a probe's connections. */
const atOnce = 8;
/** After that a stop that still waits no longer counts among them. */
const placeMs = 10_000;
const openSourceMs = 5000;

/** Whether FAILED is tried again; null for what only has to be waited for (no answer, no leader). */
function canRetry(error: unknown): boolean | null {
  if (error instanceof StopFailed) return error.retriable;
  // Every step judges anew: only another topic of the same name stays another.
  if (error instanceof LinkFailureError) return error.failure.code !== 'topic-recreated';
  return null;
}
