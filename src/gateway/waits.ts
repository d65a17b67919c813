import { textOf } from '../net/error-text.ts';

/**
 * Requests that can't be judged yet (the mirrors' state is not read, a topic id is not known, a partition has an append
 * in progress): nothing behind them is read until they were judged again. A wait without end is given up, its client
 * has long timed out.
 *
 * Whoever gives up, or whose client goes, is forgotten: a promise keeps its reactions until it settles, and with them
 * the frame, so each promise has one reaction and a list that can be left.
 */
const GIVEN_UP_AFTER_MS = 60_000;

interface Holdable {
  hold(reason: 'waiting'): void;
  lift(reason: 'waiting'): void;
}

export interface WaitHandlers {
  /** false: the connection has ended, nothing is judged any more. */
  alive(): boolean;
  givenUp(): void;
  failed(why: string): void;
  /** Judging threw: a fault of ours, as in a frame that is judged at once. */
  broke(why: string): void;
}

export class Waits {
  readonly #gate: Holdable;
  readonly #handlers: WaitHandlers;
  readonly #running = new Set<() => void>();

  constructor(gate: Holdable, handlers: WaitHandlers) {
    this.#gate = gate;
    this.#handlers = handlers;
  }

  /** Holds the reading until `until` ends, then judges; the judging may wait again. */
  hold(until: Promise<void>, judge: () => void, givenUp: () => void = () => this.#handlers.givenUp()): void {
    this.#gate.hold('waiting');
    let act: (() => void) | null = null;
    const finish = (): void => {
      const next = act;
      forget();
      if (!this.#handlers.alive()) return;
      try {
        next?.();
      } catch (error) {
        this.#handlers.broke(error instanceof Error ? (error.stack ?? error.message) : String(error));
        return;
      }
      if (this.#running.size === 0) this.#gate.lift('waiting');
    };
    let turn: NodeJS.Immediate | null = null;
    const leave = whenSettled(until, (error) => {
      act = error === null ? judge : () => this.#handlers.failed(error);
      // a turn of its own: judging that waits for what is over already would never let anyone else run
      turn = setImmediate(finish);
    });
    const timer = setTimeout(() => {
      act = givenUp;
      finish();
    }, GIVEN_UP_AFTER_MS);
    const forget = (): void => {
      clearTimeout(timer);
      if (turn !== null) clearImmediate(turn);
      leave();
      act = null;
      this.#running.delete(forget);
    };
    this.#running.add(forget);
  }

  /** The client has gone: nothing is judged, and nothing of it is kept. */
  stop(): void {
    for (const forget of this.#running) forget();
  }
}

type Told = (error: string | null) => void;
const waiting = new WeakMap<Promise<void>, Set<Told>>();

/** @returns how to leave */
function whenSettled(promise: Promise<void>, told: Told): () => void {
  const list = waiting.get(promise) ?? listOf(promise);
  list.add(told);
  return () => void list.delete(told);
}

// Its own function: what the reaction can reach is what its scope holds, and that is the list alone.
function listOf(promise: Promise<void>): Set<Told> {
  const list = new Set<Told>();
  waiting.set(promise, list);
  const tellAll: Told = (error) => {
    waiting.delete(promise);
    for (const tell of list) tell(error);
  };
  promise.then(
    () => tellAll(null),
    (error: unknown) => tellAll(textOf(error)),
  );
  return list;
}
