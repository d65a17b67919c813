import { StagedRecords } from './staged-records.ts';
import type { StateView, ViewChange } from './types.ts';
import { ReplayedView } from './view.ts';

type Listener = (changes: readonly ViewChange[]) => void;

/** The view as the reader fills it: what changed is told once an answer is taken, and staged records when they are let in. */
export class FollowedView {
  readonly view: StateView;
  readonly staged: StagedRecords;
  readonly #view: ReplayedView;
  readonly #told: Listener;
  readonly #listeners = new Set<Listener>();
  #pending: ViewChange[] = [];

  /** @param told called last with every change */
  constructor(partitions: number, told: Listener) {
    this.staged = new StagedRecords(partitions);
    this.#view = new ReplayedView(partitions, (partition) => this.staged.holds(partition));
    this.view = this.#view;
    this.#told = told;
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** A committed record. @throws StateCodecError, StateUnusable */
  record(partition: number, key: string, value: Uint8Array | null): void {
    if (this.staged.hold(partition, key, value)) return;
    const change = this.#view.apply(partition, key, value);
    if (change !== undefined) this.#pending.push(change);
  }

  /** Lets a state partition in that was read to its end. @throws as `record` */
  reveal(partition: number): void {
    for (const [key, value] of this.staged.letThrough(partition)) this.record(partition, key, value);
    this.publish();
  }

  /** After all records of one answer. */
  publish(): void {
    const changes = this.#pending;
    if (changes.length === 0) return;
    this.#pending = [];
    for (const listener of this.#listeners) listener(changes);
    this.#told(changes);
  }
}
