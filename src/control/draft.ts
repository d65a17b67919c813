import type { PartitionRef } from '../link/ports.ts';
import { mayGo } from './states.ts';
import {
  type MirrorRecord,
  type PartitionRecord,
  StateAway,
  type StateChange,
  type StateView,
  type TopicRecord,
  partitionKey,
} from './state/types.ts';

/** The mirror partition that a key is of; null for mirrors and topics, which live in state partition 0. */
export type Touched = PartitionRef | null;

type Editable = MirrorRecord | TopicRecord | PartitionRecord;

/** The records as they will stand after the changes made so far. */
export class Draft {
  readonly #view: StateView;
  readonly #base: Draft | null;
  readonly #edits = new Map<string, { readonly record: Editable | null; readonly change: StateChange }>();
  readonly #touched = new Map<string, Touched>();

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

  /** Keys that were looked at or put. */
  get touched(): ReadonlyMap<string, Touched> {
    return this.#touched;
  }

  mirror(name: string): MirrorRecord | undefined {
    this.#touched.set(`mirror/${name}`, null);
    return this.#look(`mirror/${name}`, () => this.#view.mirrors.get(name));
  }

  topic(name: string): TopicRecord | undefined {
    this.#touched.set(`topic/${name}`, null);
    return this.#look(`topic/${name}`, () => this.#view.topics.get(name));
  }

  /** @throws StateAway when its state partition was never read: no record then means nothing */
  partition(topic: string, partition: number): PartitionRecord | undefined {
    const key = partitionKey(topic, partition);
    this.#touched.set(`partition/${key}`, { topic, partition });
    if (!this.#view.knows(topic, partition))
      throw new StateAway(`the state of ${topic}-${partition} was not read yet`);
    return this.#look(`partition/${key}`, () => this.#view.partitions.get(key));
  }

  /** @throws StateAway as `partition`; Error when a partition's state may not go where the record leads (states.ts) */
  put(record: Editable): void {
    if (record.kind === 'partition') this.#checkTransition(record);
    else this.#touched.set(keyOf(record), null);
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
