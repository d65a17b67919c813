/** What a gate holds back: reading from a socket. */
export interface Pausable {
  pauseReading(): void;
  resumeReading(): void;
}

/** Reading goes on only while no reason stands against it; each reason is set and lifted by whoever knows it. */
export class Gate<Reason extends string> {
  readonly #target: Pausable;
  readonly #reasons = new Set<Reason>();

  constructor(target: Pausable) {
    this.#target = target;
  }

  get isOpen(): boolean {
    return this.#reasons.size === 0;
  }

  /** Reasons that hold it now, for snapshots. */
  get reasons(): readonly Reason[] {
    return [...this.#reasons];
  }

  hold(reason: Reason): void {
    if (this.#reasons.size === 0) this.#target.pauseReading();
    this.#reasons.add(reason);
  }

  /** May deliver frames before it returns, which may hold it again. */
  lift(reason: Reason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#target.resumeReading();
  }
}
