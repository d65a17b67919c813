import { Draft, type Touched } from './draft.ts';
import { StateAway, type StateChange, type StateStore, type StateView } from './state/types.ts';

export { Draft } from './draft.ts';

/**
 * The one door through which this process changes the state of a destination.
 *
 * A change is a function of the records as they are when its turn comes, so two changes of one record never undo each
 * other, however long the asking before took. From the moment a change is taken until what it put is read back, the
 * keys that it looked at or put are its own: a later change of one of them waits, and a change of others does not. So
 * a state partition that is out of reach holds up only what lives there. Changes of the same event loop turn that share
 * a key share a write, and the store makes one transaction of what comes while one is under way.
 */
export class Ledger {
  readonly #store: Pick<StateStore, 'view' | 'write' | 'outage'>;
  #waiting: Waiting[] = [];
  /** Changes under way: their keys are taken. */
  readonly #underWay = new Set<Group>();
  readonly #pending = new Set<Waiting>();
  readonly #idle = new Set<() => void>();
  #scheduled = false;
  #watch: NodeJS.Timeout | null = null;

  constructor(store: Pick<StateStore, 'view' | 'write' | 'outage'>) {
    this.#store = store;
  }

  get view(): StateView {
    return this.#store.view;
  }

  /**
   * Resolves with what `change` returned once all that it put is committed and read back, however long that takes.
   * `change` may be called more than once before its turn has come.
   * @throws whatever `change` throws (nothing of it is written); StateFenced once another instance took over
   */
  update<T>(change: (draft: Draft) => T): Promise<T> {
    return this.#ask(change, true);
  }

  /**
   * As `update`, for who must not wait for a state partition that is out of reach, nor behind who does.
   * @throws StateAway: nothing was done, or it was on its way already and will stand there, in its order, when the
   *   state partition is back
   */
  updateSoon<T>(change: (draft: Draft) => T): Promise<T> {
    return this.#ask(change, false);
  }

  /** Resolves when no change is waiting or being written, those apart that wait for a state partition out of reach. */
  async settled(): Promise<void> {
    while (this.#stuck().size < this.#pending.size) {
      await new Promise<void>((resolve) => this.#idle.add(resolve));
    }
  }

  #ask<T>(change: (draft: Draft) => T, isPatient: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        change,
        isPatient,
        touched: new Map(),
        settle: (error, value) => {
          this.#pending.delete(waiting);
          if (error === null) resolve(value as T);
          else reject(error);
        },
      };
      this.#waiting.push(waiting);
      this.#pending.add(waiting);
      this.#watch ??= setInterval(() => this.#look(), WATCH_MS);
      this.#schedule();
    });
  }

  /** Callers of one event loop turn are taken together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#takeRound();
    });
  }

  #takeRound(): void {
    const round = this.#waiting;
    this.#waiting = [];
    const draft = new Draft(this.#store.view);
    /** Of changes under way, and of those of this round that wait for them: nobody overtakes on a key. */
    const blocked = new Set([...this.#underWay].flatMap(({ keys }) => [...keys]));
    const groups = new Groups();
    for (const waiting of round) {
      const attempt = draft.fork();
      const outcome = tried(waiting.change, attempt);
      waiting.touched = attempt.touched;
      const keys = [...attempt.touched.keys()];
      if (keys.some((key) => blocked.has(key))) {
        for (const key of keys) blocked.add(key);
        this.#waiting.push(waiting);
        continue;
      }
      if (outcome.error !== null) {
        waiting.settle(outcome.error, undefined);
        continue;
      }
      const away = waiting.isPatient ? null : this.#awayOf(waiting);
      if (away !== null && attempt.changes().length > 0) {
        waiting.settle(new StateAway(away), undefined);
        continue;
      }
      draft.merge(attempt);
      groups.join({
        keys: new Set(keys),
        changes: attempt.changes(),
        of: [{ waiting, value: outcome.value }],
      });
    }
    for (const group of groups.all()) void this.#write(group);
    this.#tellIdle();
  }

  async #write(group: Group): Promise<void> {
    let failure: Error | null = null;
    if (group.changes.length > 0) {
      this.#underWay.add(group);
      try {
        await this.#store.write(group.changes);
      } catch (error) {
        failure = error as Error;
      }
      this.#underWay.delete(group);
    }
    for (const { waiting, value } of group.of) waiting.settle(failure, value);
    this.#tellIdle();
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Who must not wait is let go when a state partition goes away meanwhile. */
  #look(): void {
    for (const [waiting, away] of this.#stuck()) {
      if (waiting.isPatient) continue;
      const at = this.#waiting.indexOf(waiting);
      if (at >= 0) this.#waiting.splice(at, 1);
      waiting.settle(new StateAway(away, at < 0), undefined);
    }
    // some may have waited for one that was let go
    if (this.#waiting.length > 0) this.#schedule();
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#pending.size === 0 && this.#watch !== null) {
      clearInterval(this.#watch);
      this.#watch = null;
    }
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  /** What can't be written now, with the reason: its state partition is out of reach, or that of a change before it. */
  #stuck(): ReadonlyMap<Waiting, string> {
    const stuck = new Map<Waiting, string>();
    const keys = new Map<string, string>();
    for (const group of this.#underWay) {
      const away = first(group.of, ({ waiting }) => this.#awayOf(waiting));
      if (away === null) continue;
      for (const key of group.keys) keys.set(key, away);
      for (const { waiting } of group.of) if (this.#pending.has(waiting)) stuck.set(waiting, away);
    }
    for (const waiting of this.#waiting) {
      const away = this.#awayOf(waiting) ?? first(waiting.touched.keys(), (key) => keys.get(key) ?? null);
      if (away === null) continue;
      stuck.set(waiting, away);
      // who is not patient goes, and holds up nobody
      if (waiting.isPatient) for (const key of waiting.touched.keys()) keys.set(key, away);
    }
    return stuck;
  }

  #awayOf({ touched }: Waiting): string | null {
    for (const ref of touched.values()) {
      const away = ref === null ? this.#store.outage() : this.#store.outage(ref.topic, ref.partition);
      if (away !== null) return away;
    }
    return null;
  }
}

const WATCH_MS = 250;

interface Waiting {
  readonly change: (draft: Draft) => unknown;
  readonly isPatient: boolean;
  /** As of the last time it was called. */
  touched: ReadonlyMap<string, Touched>;
  readonly settle: (error: Error | null, value: unknown) => void;
}

/** Changes that share keys: they are written together or not at all. */
interface Group {
  readonly keys: Set<string>;
  readonly changes: StateChange[];
  readonly of: { readonly waiting: Waiting; readonly value: unknown }[];
}

function first<T>(items: Iterable<T>, look: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}

function tried(change: Waiting['change'], draft: Draft): { error: Error | null; value: unknown } {
  try {
    return { error: null, value: change(draft) };
  } catch (error) {
    return { error: error as Error, value: undefined };
  }
}

class Groups {
  readonly #byKey = new Map<string, Group>();
  readonly #all = new Set<Group>();

  all(): readonly Group[] {
    return [...this.#all];
  }

  /** Puts it together with the groups that it shares a key with; of two changes of a record the later one counts. */
  join(later: Group): void {
    const shared = new Set([...later.keys].flatMap((key) => this.#byKey.get(key) ?? []));
    for (const earlier of shared) {
      this.#all.delete(earlier);
      for (const key of earlier.keys) later.keys.add(key);
      later.changes.unshift(...earlier.changes);
      later.of.unshift(...earlier.of);
    }
    for (const key of later.keys) this.#byKey.set(key, later);
    this.#all.add(later);
  }
}
