/**
 * When a connection has been silent for too long. One that we don't read is not idle, but its end would not be seen
 * either, so whoever is held back for longer than ten minutes (or the idle time, if that is longer) has gone; one that
 * waits for an answer of ours is not idle at all.
 */
export interface Watched {
  /** true while we don't read from it. */
  readonly readingPaused: boolean;
  owesAnswer(): boolean;
  /** Called once, with a text that says what was waited for. */
  onIdle(detail: string): void;
}

const HELD_BACK_MS = 600_000;

export class IdleWatch {
  readonly #watched: Watched;
  #lastReadAt = performance.now();
  #timer: NodeJS.Timeout | null = null;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Bytes came, or could come again. */
  touch(): void {
    this.#lastReadAt = performance.now();
  }

  /** @param idleMs 0 = never */
  start(idleMs: number): void {
    if (idleMs > 0) this.#arm(idleMs, idleMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(afterMs: number, idleMs: number): void {
    this.#timer = setTimeout(() => this.#check(idleMs), afterMs);
    this.#timer.unref();
  }

  #check(idleMs: number): void {
    const { readingPaused } = this.#watched;
    if (!readingPaused && this.#watched.owesAnswer()) this.touch();
    const limit = readingPaused ? Math.max(idleMs, HELD_BACK_MS) : idleMs;
    const left = limit - (performance.now() - this.#lastReadAt);
    if (left > 0) {
      this.#arm(Math.max(1, Math.min(left, idleMs)), idleMs);
      return;
    }
    const heldBack = `reading was held back for ${limit / 1000} s`;
    this.#watched.onIdle(readingPaused ? heldBack : `nothing was received for ${idleMs} ms`);
  }
}
