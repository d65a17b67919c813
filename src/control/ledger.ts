import { mayGo } from './states.ts';
import {
  type MirrorRecord,
  type PartitionRecord,
  type StateChange,
  type StateStore,
  type StateView,
  type TopicRecord,
  partitionKey,
} from './state/types.ts';

/**
 * The one door through which this process changes the state of a destination.
 *
 * A change is a function of the records as they are when its turn comes, so two changes of one record never undo
 * each other, however long the asking before took. Changes that wait while a write is under way share the next
 * one: the state topic sees a transaction per round trip, not per partition.
 */
export class Ledger {
  readonly #store: StateStore;
  #waiting: Waiting[] = [];
  #writing = false;

  constructor(store: StateStore) {
    this.#store = store;
  }

  get view(): StateView {
    return this.#store.view;
  }

  /**
   * Resolves with what `change` returned once all that it put is committed and read back.
   * @throws whatever `change` throws (nothing of it is written); StateFenced once another instance took over
   */
  update<T>(change: (draft: Draft) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        change,
        settle: (error, value) => (error === null ? resolve(value as T) : reject(error)),
      });
      void this.#flush();
    });
  }

  /** Resolves when no change is waiting or being written. */
  async settled(): Promise<void> {
    if (this.#writing || this.#waiting.length > 0) {
      await this.update(() => undefined).catch(() => undefined);
    }
  }

  async #flush(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    // Callers of one event loop turn share a transaction.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const round = this.#waiting;
      this.#waiting = [];
      const draft = new Draft(this.#store.view);
      const written: { settle: Waiting['settle']; value: unknown }[] = [];
      for (const { change, settle } of round) {
        const attempt = draft.fork();
        try {
          const value = change(attempt);
          draft.merge(attempt);
          written.push({ settle, value });
        } catch (error) {
          settle(error as Error, undefined);
        }
      }
      const changes = draft.changes();
      try {
        if (changes.length > 0) await this.#store.write(changes);
        for (const { settle, value } of written) settle(null, value);
      } catch (error) {
        for (const { settle } of written) settle(error as Error, undefined);
      }
    }
    this.#writing = false;
  }
}

interface Waiting {
  readonly change: (draft: Draft) => unknown;
  readonly settle: (error: Error | null, value: unknown) => void;
}

type Editable = MirrorRecord | TopicRecord | PartitionRecord;

/** The records as they will stand after the changes made so far. */
export class Draft {
  readonly #view: StateView;
  readonly #base: Draft | null;
  readonly #edits = new Map<string, { readonly record: Editable | null; readonly change: StateChange }>();

  constructor(view: StateView, base: Draft | null = null) {
    this.#view = view;
    this.#base = base;
  }

  fork(): Draft {
    return new Draft(this.#view, this);
  }

  merge(fork: Draft): void {
    for (const [key, edit] of fork.#edits) this.#edits.set(key, edit);
  }

  mirror(name: string): MirrorRecord | undefined {
    return this.#look(`mirror/${name}`, () => this.#view.mirrors.get(name));
  }

  topic(name: string): TopicRecord | undefined {
    return this.#look(`topic/${name}`, () => this.#view.topics.get(name));
  }

  partition(topic: string, partition: number): PartitionRecord | undefined {
    const key = partitionKey(topic, partition);
    return this.#look(`partition/${key}`, () => this.#view.partitions.get(key));
  }

  /** @throws Error when a partition's state may not go where the record leads (states.ts) */
  put(record: Editable): void {
    if (record.kind === 'partition') this.#checkTransition(record);
    this.#edits.set(keyOf(record), { record, change: { put: record } });
  }

  changes(): StateChange[] {
    return [...this.#edits.values()].map((edit) => edit.change);
  }

  #look<R extends Editable>(key: string, inView: () => R | undefined): R | undefined {
    const edit = this.#edits.get(key);
    if (edit !== undefined) return (edit.record ?? undefined) as R | undefined;
    return this.#base === null ? inView() : this.#base.#look(key, inView);
  }

  #checkTransition(record: PartitionRecord): void {
    const before = this.partition(record.topic, record.partition);
    if (before === undefined || mayGo(before.state, record.state)) return;
    throw new Error(
      `${record.topic}-${record.partition} can't go from ${before.state} to ${record.state}: no such transition`,
    );
  }
}

function keyOf(record: Editable): string {
  switch (record.kind) {
    case 'mirror':
      return `mirror/${record.name}`;
    case 'topic':
      return `topic/${record.topic}`;
    case 'partition':
      return `partition/${partitionKey(record.topic, record.partition)}`;
  }
}
