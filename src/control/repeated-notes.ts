import { syncError } from '../observe/channels.ts';
import { textOf } from '../net/error-text.ts';

/** Errors of work that is done again and again: each is told when it comes, and again only now and then. */
export class RepeatedNotes {
  readonly #mirror: string;
  readonly #now: () => number;
  readonly #told = new Map<string, { readonly message: string; readonly at: number }>();

  constructor(mirror: string, now: () => number) {
    this.#mirror = mirror;
    this.#now = now;
  }

  tell(task: string, error: unknown): void {
    const message = textOf(error);
    const last = this.#told.get(task);
    const now = this.#now();
    if (last?.message === message && Math.abs(now - last.at) < againMs) return;
    this.#told.set(task, { message, at: now });
    syncError.publish({ mirror: this.#mirror, task, message });
  }
}

const againMs = 30_000;
