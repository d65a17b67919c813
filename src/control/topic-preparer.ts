import { syncError } from '../observe/channels.ts';
import { Backoff } from './backoff.ts';
import type { Ledger } from './ledger.ts';
import { AdminError, type SourceSession, type Surroundings } from './ports.ts';
import {
  PrepareFailed,
  type Prepared,
  checkSource,
  isAligned,
  prepareTopic,
  refuseLocalTransactions,
} from './prepare-topic.ts';
import {
  type MirrorRecord,
  StateFenced,
  type StateStore,
  type TopicRecord,
  partitionKey,
} from './state/types.ts';
import { mirrorSettings, settingsDrift, sourceSettings } from './topic-settings.ts';
import { textOf } from '../net/error-text.ts';

export interface TopicPreparerOptions {
  readonly mirror: MirrorRecord;
  readonly surroundings: Surroundings;
  readonly ledger: Ledger;
  readonly store: Pick<StateStore, 'whenMayAppend'>;
  readonly signal: AbortSignal;
  /** The topic can't be mirrored: its partitions become FAILED. */
  failed(topic: TopicRecord, message: string, retriable: boolean): Promise<void>;
  /** A preparation ended, well or not. */
  changed(): void;
}

/** Other gateways learn of a new record within this time (DESIGN section 7, freshness). */
const gatewaysKnowAfterMs = 3000;

/** Gets the topics of a mirror ready for their link, keeps an eye on them, and says what troubles them. */
export class TopicPreparer {
  readonly #options: TopicPreparerOptions;
  readonly #backoff = new Backoff(500, 15_000);
  readonly #running = new Map<string, Promise<void>>();
  readonly #ready = new Set<string>();
  /** Topics whose cleaner was switched on. */
  readonly #compacting = new Set<string>();
  readonly #firstSeen = new Map<string, number>();
  readonly #trouble = new Map<string, string>();
  #watching: Promise<void> | null = null;
  #unseen: string | null = null;

  constructor(options: TopicPreparerOptions) {
    this.#options = options;
  }

  /** Called with every topic in every round: when this process saw its record first. */
  saw(topic: string): void {
    if (!this.#firstSeen.has(topic)) this.#firstSeen.set(topic, this.#options.surroundings.now());
  }

  isReady(topic: string): boolean {
    return this.#ready.has(topic);
  }

  /** A partition of it left the link: it is prepared anew before it comes back. */
  forget(topic: string): void {
    this.#ready.delete(topic);
  }

  trouble(topic: string): string | null {
    return this.#trouble.get(topic) ?? null;
  }

  /** false while it is being prepared, or waits for its next try. */
  isDue(topic: string): boolean {
    return !this.#running.has(topic) && this.#backoff.isDue(topic, this.#options.surroundings.now());
  }

  begin(topic: TopicRecord, session: SourceSession): void {
    const work = this.#prepare(topic, session).finally(() => {
      this.#running.delete(topic.topic);
      this.#options.changed();
    });
    this.#running.set(topic.topic, work);
  }

  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running.values(), this.#watching]);
  }

  /** Looks at the sources of the ready topics, beside everything else: a source slow to answer holds nothing up. */
  watch(topics: readonly TopicRecord[], session: SourceSession): void {
    this.#watching ??= this.#watch(topics, session).finally(() => {
      this.#watching = null;
    });
  }

  /** `compact,delete` where the source compacts, once the whole topic is MIRRORING. */
  async whenAligned(name: string): Promise<void> {
    const { ledger, surroundings } = this.#options;
    const topic = ledger.view.topics.get(name);
    const policy = topic?.sourceSettings['cleanup.policy'] ?? null;
    if (topic === undefined || policy === null || !policy.includes('compact')) return;
    const key = `${name} cleanup.policy`;
    if (this.#compacting.has(name) || !isAligned(ledger.view, topic)) return;
    if (!this.#backoff.isDue(key, surroundings.now())) return;
    const source = sourceSettings([{ name: 'cleanup.policy', value: policy, isTopicOverride: true }]);
    const aligned = mirrorSettings(source, true).get('cleanup.policy') ?? 'delete';
    try {
      const actual = await surroundings.destination.topicConfigs(name);
      const drift = settingsDrift(new Map([['cleanup.policy', aligned]]), actual);
      await surroundings.destination.alterTopicConfigs(name, drift);
      this.#compacting.add(name);
    } catch (error) {
      this.#backoff.failed(key, surroundings.now());
      this.#note(`cleanup.policy of ${name}`, textOf(error));
    }
  }

  async #prepare(topic: TopicRecord, session: SourceSession): Promise<void> {
    const { ledger, surroundings, mirror, store } = this.#options;
    const { destination } = surroundings;
    try {
      const { notice, unseen, ...columns } = await prepareTopic(
        { mirror, source: session.admin, destination, view: ledger.view, sleep: (ms) => this.#sleep(ms) },
        topic,
      );
      await ledger.updateSoon((draft) => {
        const record = draft.topic(topic.topic);
        if (record === undefined || record.mirror !== mirror.name) return;
        // Stopped meanwhile: what was just set for a mirror is to be given back, perhaps once more.
        const configsPending = record.configsPending || record.desired === 'STOPPED';
        if (sameColumns(record, columns) && configsPending === record.configsPending) return;
        draft.put({ ...record, ...columns, configsPending, error: '' });
      });
      if (await this.#untilGatewaysKnow(topic)) await refuseLocalTransactions(destination, topic.topic);
      this.#tellUnseen(unseen);
      await store.whenMayAppend();
      this.#setTrouble(topic.topic, notice);
      this.#backoff.worked(topic.topic);
      this.#ready.add(topic.topic);
    } catch (error) {
      await this.#prepareFailed(topic, error);
    }
  }

  async #prepareFailed(topic: TopicRecord, error: unknown): Promise<void> {
    if (this.#options.signal.aborted || error instanceof StateFenced) return;
    const message = textOf(error);
    const attempts = this.#backoff.failed(topic.topic, this.#options.surroundings.now());
    this.#setTrouble(topic.topic, message);
    if (attempts === 1) this.#note(`prepare ${topic.topic}`, message);
    await this.#failIfFinal(topic, error);
  }

  async #failIfFinal(topic: TopicRecord, error: unknown): Promise<void> {
    if (error instanceof PrepareFailed) await this.#options.failed(topic, error.message, error.retriable);
    if (error instanceof AdminError && error.isWrongCluster) {
      await this.#options.failed(topic, error.message, false);
    }
  }

  /** Once for each reason, not for each topic: a right that is missing is no fault of theirs. */
  #tellUnseen(unseen: string | null): void {
    if (unseen !== null && unseen !== this.#unseen) this.#note('local transactions', unseen);
    this.#unseen = unseen;
  }

  /**
   * A first append may only come when every gateway refuses writers of the topic.
   * @returns true when it had to be waited for
   */
  async #untilGatewaysKnow(topic: TopicRecord): Promise<boolean> {
    const { ledger, surroundings } = this.#options;
    let fresh = false;
    for (let partition = 0; partition < topic.partitions; partition++) {
      const record = ledger.view.partitions.get(partitionKey(topic.topic, partition));
      if (record?.epochs.length === 0) fresh = true;
    }
    if (!fresh) return false;
    const seen = this.#firstSeen.get(topic.topic) ?? surroundings.now();
    const left = seen + gatewaysKnowAfterMs - surroundings.now();
    if (left > 0) await this.#sleep(left);
    return left > 0;
  }

  async #watch(topics: readonly TopicRecord[], session: SourceSession): Promise<void> {
    const { mirror } = this.#options;
    for (const topic of topics) {
      if (!this.#ready.has(topic.topic) || topic.desired !== 'MIRRORING') continue;
      try {
        const context = { mirror, source: session.admin, sleep: (ms: number) => this.#sleep(ms) };
        this.#setTrouble(topic.topic, await checkSource(context, topic));
      } catch (error) {
        await this.#failIfFinal(topic, error);
      }
    }
  }

  #sleep(ms: number): Promise<void> {
    return this.#options.surroundings.sleep(ms, this.#options.signal);
  }

  #setTrouble(topic: string, message: string | null): void {
    if (message === null) this.#trouble.delete(topic);
    else this.#trouble.set(topic, message);
  }

  #note(task: string, message: string): void {
    syncError.publish({ mirror: this.#options.mirror.name, task, message });
  }
}

function sameColumns(record: TopicRecord, columns: Omit<Prepared, 'notice' | 'unseen'>): boolean {
  return (
    record.destinationTopicId === columns.destinationTopicId &&
    record.createdByUs === columns.createdByUs &&
    JSON.stringify(record.sourceSettings) === JSON.stringify(columns.sourceSettings)
  );
}
