/**
 * Requests that can't be judged yet (the mirrors' state is not read, a topic id is not known, a partition has an append
 * in progress): nothing behind them is read until they were judged again. A wait without end is given up, its client
 * has long timed out.
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
}

export class Waits {
  readonly #gate: Holdable;
  readonly #handlers: WaitHandlers;
  #running = 0;

  constructor(gate: Holdable, handlers: WaitHandlers) {
    this.#gate = gate;
    this.#handlers = handlers;
  }

  /** Holds the reading until `until` ends, then judges; the judging may wait again. */
  hold(until: Promise<void>, judge: () => void): void {
    this.#gate.hold('waiting');
    this.#running += 1;
    let over = false;
    const finish = (act: () => void): void => {
      clearTimeout(timer);
      if (over || !this.#handlers.alive()) return;
      over = true;
      act();
      this.#running -= 1;
      if (this.#running === 0) this.#gate.lift('waiting');
    };
    const timer = setTimeout(() => finish(() => this.#handlers.givenUp()), GIVEN_UP_AFTER_MS);
    until.then(
      () => finish(judge),
      (error: unknown) => {
        finish(() => this.#handlers.failed(error instanceof Error ? error.message : String(error)));
      },
    );
  }
}
