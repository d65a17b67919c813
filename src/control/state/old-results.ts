import type { Instant } from './clock.ts';
import type { StateView } from './types.ts';

/** Long enough for whoever asked to come back for the answer. */
const KEPT_MS = 3_600_000;
const SWEEP_MS = 60_000;

/** Results of commands whose time is over: nobody deletes them but the owner of the state, an hour after they were written. */
export class OldResults {
  readonly #view: Pick<StateView, 'results'>;
  #lookedAt = 0;

  constructor(view: Pick<StateView, 'results'>) {
    this.#view = view;
  }

  /** Keys to be tombstoned now; looks once a minute, empty in between. */
  due(now: Instant): string[] {
    if (now.mono - this.#lookedAt < SWEEP_MS) return [];
    this.#lookedAt = now.mono;
    return [...this.#view.results.values()]
      .filter(({ finishedAt }) => now.wall - finishedAt > KEPT_MS)
      .map(({ id }) => `result/${id}`);
  }
}
