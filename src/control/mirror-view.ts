import type { Freshness, GuardedTopic, KnownBarrier, MirrorView } from '../gateway/ports.ts';
import { isReadOnly } from './states.ts';
import { type StateStore, type StateView, partitionKey } from './state/types.ts';

/** The mirrors as a gateway asks for them, once per frame: straight from the records, with answers kept between changes. */
export class StateMirrorView implements MirrorView {
  readonly stateTopic: string;
  readonly #store: Pick<StateStore, 'view' | 'freshness' | 'whenLoaded' | 'onChange'>;
  readonly #topics = new Map<string, GuardedTopicOfState>();
  #anyBarrier: boolean | null = null;

  constructor(store: Pick<StateStore, 'view' | 'freshness' | 'whenLoaded' | 'onChange'>, stateTopic: string) {
    this.#store = store;
    this.stateTopic = stateTopic;
    store.onChange((changes) => {
      if (!changes.some(({ key }) => key.startsWith('topic/') || key.startsWith('partition/'))) return;
      this.#anyBarrier = null;
      for (const topic of this.#topics.values()) topic.forget();
    });
  }

  freshness(topic?: string, partition?: number): Freshness {
    if (topic === undefined || partition === undefined) return this.#store.freshness(topic);
    // without a record of its own the whole topic decides about it
    const isKnown = this.#store.view.partitions.has(partitionKey(topic, partition));
    return isKnown ? this.#store.freshness(topic, partition) : this.#store.freshness(topic);
  }

  whenLoaded(): Promise<void> {
    return this.#store.whenLoaded();
  }

  topic(name: string): GuardedTopic | undefined {
    const record = this.#store.view.topics.get(name);
    // A topic whose mirror was deleted is an ordinary one again.
    if (record === undefined || record.mirror === null) return undefined;
    let guarded = this.#topics.get(name);
    if (guarded === undefined) {
      guarded = new GuardedTopicOfState(this.#store.view, name);
      this.#topics.set(name, guarded);
    }
    return guarded;
  }

  barriers(topic: string, partition: number): readonly KnownBarrier[] {
    return this.#store.view.partitions.get(partitionKey(topic, partition))?.barriers ?? none;
  }

  get anyBarrier(): boolean {
    if (this.#anyBarrier === null) {
      this.#anyBarrier = false;
      for (const { barriers } of this.#store.view.partitions.values()) {
        if (barriers.length > 0) this.#anyBarrier = true;
      }
    }
    return this.#anyBarrier;
  }
}

const none: readonly KnownBarrier[] = [];

class GuardedTopicOfState implements GuardedTopic {
  readonly name: string;
  readonly #view: StateView;
  #readOnly: boolean | null = null;

  constructor(view: StateView, name: string) {
    this.#view = view;
    this.name = name;
  }

  forget(): void {
    this.#readOnly = null;
  }

  get mirror(): string {
    return this.#view.topics.get(this.name)?.mirror ?? '';
  }

  get source(): string {
    return this.#view.mirrors.get(this.mirror)?.source ?? '';
  }

  get readOnly(): boolean {
    this.#readOnly ??= this.#anyReadOnly();
    return this.#readOnly;
  }

  get settingsPending(): boolean {
    const topic = this.#view.topics.get(this.name);
    return topic !== undefined && topic.configsPending && topic.error === '';
  }

  isReadOnly(partition: number): boolean {
    const record = this.#view.partitions.get(partitionKey(this.name, partition));
    // Partitions without a record were added by the owner of a STOPPED topic, or don't exist.
    return record === undefined ? this.readOnly : isReadOnly(record.state);
  }

  stateOf(partition: number): string {
    return this.#view.partitions.get(partitionKey(this.name, partition))?.state ?? 'UNKNOWN';
  }

  #anyReadOnly(): boolean {
    const topic = this.#view.topics.get(this.name);
    if (topic === undefined) return false;
    for (let partition = 0; partition < topic.partitions; partition++) {
      if (isReadOnly(this.stateOf(partition) as Parameters<typeof isReadOnly>[0])) return true;
    }
    return false;
  }
}
