import type { LinkFailure, LinkProgress, PartitionRef } from '../link/ports.ts';
import { Backoff } from './backoff.ts';
import type { Ledger } from './ledger.ts';
import { localTransactionsText } from './local-transactions.ts';
import { type ExternalCopier, LinkedPartitions } from './linked-partitions.ts';
import { PartitionWrites } from './partition-writes.ts';
import type { Surroundings } from './ports.ts';
import { ProgressKeeper } from './progress-keeper.ts';
import { RepeatedNotes } from './repeated-notes.ts';
import { SourceKeeper } from './source-keeper.ts';
import { stateOf } from './states.ts';
import {
  type MirrorRecord,
  type PartitionRecord,
  StateFenced,
  type StateStore,
  type TopicRecord,
  partitionKey,
} from './state/types.ts';
import { StopRunner } from './stop-runner.ts';
import { TopicPreparer } from './topic-preparer.ts';
import { within } from './within.ts';

export interface MirrorRunnerOptions {
  readonly mirror: MirrorRecord;
  readonly surroundings: Surroundings;
  readonly ledger: Ledger;
  readonly store: Pick<StateStore, 'mayAppend' | 'whenMayAppend' | 'releasedEnd' | 'fenced' | 'outage'>;
  /** Externally copied partitions have no link; their owner is told when one is ready or leaves. */
  readonly external: ExternalCopier;
  readonly retries?: RetryLimits;
}

export interface RetryLimits {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly attempts: number;
}

/** KIP-1279's newest defaults are 100 ms, 5 min and 20; here the first pause is longer and the last shorter. */
const defaultRetries: RetryLimits = { firstMs: 500, maxMs: 60_000, attempts: 20 };
const roundMs = 250;
/** Source topics are looked at this often: gone, created anew, or with more partitions. */
const watchMs = 15_000;
const closeStopsMs = 5000;
const whoWritesMs = 5000;

/**
 * Acts towards the desired state of one mirror's topics: prepares topics, hands partitions to the link, writes down
 * how far they came, retries what failed, and runs STOPPING. It is level-triggered: each round looks at the records
 * as they are, so a crash anywhere is repaired by the next round of the next process.
 */
export class MirrorRunner {
  readonly #options: MirrorRunnerOptions;
  readonly #source: SourceKeeper;
  readonly #writes: PartitionWrites;
  readonly #linked: LinkedPartitions;
  readonly #stops: StopRunner;
  readonly #preparer: TopicPreparer;
  readonly #retries: Backoff;
  readonly #limits: RetryLimits;
  readonly #notes: RepeatedNotes;
  /** What this process retried: retries that an older one used up do not count. */
  readonly #retried = new Set<string>();
  readonly #progress: ProgressKeeper;
  readonly #abort = new AbortController();
  #watchedAt = 0;
  #wake: (() => void) | null = null;
  #loop: Promise<void> | null = null;

  constructor(options: MirrorRunnerOptions) {
    const { mirror, surroundings, ledger, store, external } = options;
    this.#options = options;
    this.#limits = options.retries ?? defaultRetries;
    this.#notes = new RepeatedNotes(mirror.name, () => surroundings.now());
    this.#retries = new Backoff(this.#limits.firstMs, this.#limits.maxMs);
    this.#source = new SourceKeeper(surroundings, mirror);
    this.#writes = new PartitionWrites(ledger, mirror.name);
    this.#linked = new LinkedPartitions({
      mirror,
      surroundings,
      ledger,
      store,
      external,
      source: this.#source,
      writes: this.#writes,
      signal: this.#abort.signal,
      failed: async (ref, failure) => {
        await this.#failed(ref, await this.#withWriter(ref, failure), failure.retriable);
        this.kick();
      },
      left: ({ topic }) => this.#preparer.forget(topic),
    });
    this.#preparer = new TopicPreparer({
      mirror,
      surroundings,
      ledger,
      store,
      signal: this.#abort.signal,
      failed: (topic, message, retriable) => this.#failTopic(topic, message, retriable),
      changed: () => this.kick(),
    });
    this.#progress = new ProgressKeeper({
      writes: this.#writes,
      notes: this.#notes,
      now: () => surroundings.now(),
      records: () => this.#topics().flatMap((topic) => this.#partitions(topic)),
      progress: (ref) => this.progress(ref),
      worked: (ref) => this.#retries.worked(keyOf(ref)),
    });
    this.#stops = new StopRunner({
      mirror,
      surroundings,
      ledger,
      writes: this.#writes,
      whenMayAppend: ({ topic, partition }) => store.whenMayAppend(topic, partition),
      endLink: (ref) => this.#linked.end(ref),
      compareTail: async () => (await this.#source.open())?.compareTail ?? null,
      releasedEnd: (ref) => this.#linked.releasedEnd(ref),
      emptyProducerEntries: ({ topic, partition }) => external.release(topic, partition),
    });
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Something changed: look now, not at the next round. */
  kick(): void {
    this.#wake?.();
  }

  progress(ref: PartitionRef): LinkProgress | undefined {
    return this.#linked.progress(ref);
  }

  trouble(topic: string): string | null {
    return this.#preparer.trouble(topic) ?? this.#stops.trouble(topic) ?? this.#source.error;
  }

  /** The mirror's own passing error: its source can't be reached. */
  get error(): string | null {
    return this.#source.error;
  }

  /** Ends all work and persists how far it came. @returns exact ends, for `released` */
  async close(): Promise<ReadonlyMap<string, number>> {
    this.#abort.abort();
    this.kick();
    await this.#loop;
    await this.#preparer.settled();
    // A stop that waits for a silent broker goes on in the next process, at its persisted step.
    await within(closeStopsMs, this.#stops.close(), this.#options.surroundings);
    const ends = await this.#linked.endAll();
    const { fenced } = this.#options.store;
    if (!fenced) await this.#writes.progressed(ends).catch(() => undefined);
    await this.#source.close();
    if (fenced) return new Map();
    return new Map([
      ...this.#untouchedEnds(),
      ...ends.map(({ ref, progress }) => [keyOf(ref), progress.destinationEnd] as const),
    ]);
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted && !this.#options.store.fenced) {
      try {
        await this.#round();
        for (const topic of await this.#progress.round()) await this.#preparer.whenAligned(topic);
        this.#watch(this.#options.surroundings.now());
      } catch (error) {
        if (error instanceof StateFenced) return;
        this.#notes.tell('mirror', error);
      }
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const nap = new AbortController();
    this.#wake = () => nap.abort();
    if (this.#abort.signal.aborted) return;
    await this.#options.surroundings.sleep(roundMs, nap.signal).catch(() => undefined);
    this.#wake = null;
  }

  async #round(): Promise<void> {
    for (const topic of this.#topics()) {
      try {
        await this.#lookAt(topic);
      } catch (error) {
        if (error instanceof StateFenced) throw error;
        // the other topics are looked at all the same
        this.#notes.tell(`mirror ${topic.topic}`, error);
      }
    }
  }

  async #lookAt(topic: TopicRecord): Promise<void> {
    this.#preparer.saw(topic.topic);
    let wantsLink = false;
    for (const record of this.#partitions(topic)) wantsLink = (await this.#look(topic, record)) || wantsLink;
    if (wantsLink) await this.#towardsMirroring(topic);
  }

  /** @returns true when the partition is to be mirrored and no link holds it */
  async #look(topic: TopicRecord, record: PartitionRecord): Promise<boolean> {
    const ref = { topic: record.topic, partition: record.partition };
    // what can't be written down is not begun; what runs goes on when its state is back
    if (this.#isAway(ref)) return false;
    const state = stateOf(record);
    switch (state.name) {
      case 'STOPPED':
        return false;
      case 'STOPPING':
        this.#stops.ensure(ref);
        return false;
      case 'FAILED':
        await this.#linked.leave(ref);
        await this.#retryWhenDue(ref, state.retryAttempt);
        return false;
      case 'UNKNOWN':
      case 'LOG_ALIGNMENT':
      case 'MIRRORING':
        return topic.desired === 'MIRRORING' && !this.#linked.isBusy(ref);
    }
  }

  async #retryWhenDue(ref: PartitionRef, attempt: number): Promise<void> {
    const key = keyOf(ref);
    if (attempt < 0 || (attempt >= this.#limits.attempts && this.#retried.has(key))) return;
    if (!this.#retries.isDue(key, this.#options.surroundings.now())) return;
    this.#retried.add(key);
    await this.#writes.retried(ref);
  }

  async #towardsMirroring(topic: TopicRecord): Promise<void> {
    if (this.#preparer.isReady(topic.topic)) {
      this.#hand(topic.topic);
      return;
    }
    if (!this.#preparer.isDue(topic.topic)) return;
    const { session, wrongCluster } = this.#source;
    if (session !== null) this.#preparer.begin(topic, session);
    else if (wrongCluster !== null) await this.#failTopic(topic, wrongCluster, false);
    // Beside everything else: a source slow to answer keeps nobody from being stopped.
    else void this.#source.open().then((opened) => (opened === null ? undefined : this.kick()));
  }

  #watch(now: number): void {
    const { session } = this.#source;
    if (session === null || now - this.#watchedAt < watchMs) return;
    this.#watchedAt = now;
    this.#preparer.watch(this.#topics(), session);
  }

  async #failTopic(topic: TopicRecord, message: string, retriable: boolean): Promise<void> {
    for (const record of this.#partitions(topic)) {
      const state = stateOf(record).name;
      if (state === 'STOPPED' || state === 'STOPPING' || state === 'FAILED') continue;
      await this.#failed({ topic: record.topic, partition: record.partition }, message, retriable);
    }
  }

  /** Without a pause: a stop that is asked for meanwhile must find the partition in the link or not at all. */
  #hand(name: string): void {
    const { session } = this.#source;
    const topic = this.#options.ledger.view.topics.get(name);
    if (session === null || topic === undefined || topic.desired !== 'MIRRORING') return;
    for (const record of this.#partitions(topic)) {
      const state = stateOf(record).name;
      const wanted = state === 'LOG_ALIGNMENT' || state === 'MIRRORING' || state === 'UNKNOWN';
      if (wanted && !this.#linked.isBusy(record) && !this.#isAway(record))
        this.#linked.hand(topic, record, session);
    }
  }

  async #failed(ref: PartitionRef, message: string, retriable: boolean): Promise<void> {
    const attempts = this.#retries.failed(keyOf(ref), this.#options.surroundings.now()) - 1;
    if (!retriable) this.#retries.worked(keyOf(ref));
    try {
      await this.#writes.failed(ref, message, retriable, attempts);
    } catch (error) {
      if (error instanceof StateFenced) return;
      this.#notes.tell('fail', error);
    }
  }

  /** Something that is not ours stands in the log: an open local transaction is named, if that is it. */
  async #withWriter(ref: PartitionRef, { code, message }: LinkFailure): Promise<string> {
    if (code !== 'foreign-write' && code !== 'tail-differs') return message;
    const { destination } = this.#options.surroundings;
    const asked = destination.localTransactions().catch(() => undefined);
    const transactions = await within(whoWritesMs, asked, this.#options.surroundings);
    const open = transactions && localTransactionsText(ref.topic, destination, transactions);
    return open ? `${message}; ${open}` : message;
  }

  /** Ends released by the last process that this one never went near. */
  #untouchedEnds(): ReadonlyMap<string, number> {
    const ends = new Map<string, number>();
    for (const topic of this.#topics()) {
      for (const record of this.#partitions(topic)) {
        const end = this.#linked.releasedEnd(record);
        if (end !== null && record.state !== 'STOPPING') ends.set(keyOf(record), end);
      }
    }
    return ends;
  }

  #isAway({ topic, partition }: PartitionRef): boolean {
    return this.#options.store.outage(topic, partition) !== null;
  }

  #topics(): TopicRecord[] {
    const { ledger, mirror } = this.#options;
    return [...ledger.view.topics.values()].filter((topic) => topic.mirror === mirror.name);
  }

  #partitions(topic: TopicRecord): PartitionRecord[] {
    const records: PartitionRecord[] = [];
    for (let partition = 0; partition < topic.partitions; partition++) {
      const record = this.#options.ledger.view.partitions.get(partitionKey(topic.topic, partition));
      if (record !== undefined) records.push(record);
    }
    return records;
  }
}

function keyOf(ref: PartitionRef): string {
  return partitionKey(ref.topic, ref.partition);
}
