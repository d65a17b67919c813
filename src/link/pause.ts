/** Thrown out of a wait whose partition was removed or whose link was closed. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
}

/** Waits `ms`, or less when the signal ends it. @throws GivenUpError */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new GivenUpError('given up'));
      return;
    }
    const ended = (): void => {
      clearTimeout(timer);
      reject(new GivenUpError('given up'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', ended);
      resolve();
    }, ms);
    signal?.addEventListener('abort', ended, { once: true });
  });
}

/** First wait `first`, then twice as long each time, at most `longest`; ± 20 % so that many don't come back at once. */
export function backoff(first: number, longest: number, faults: number): number {
  const plain = Math.min(longest, first * 2 ** Math.min(faults, 16));
  return plain * (0.8 + Math.random() * 0.4);
}

export type Away = <T>(wait: () => Promise<T>) => Promise<T>;

/** Runs at most `width` tasks at a time, in the order of asking. */
export class Limiter {
  readonly #width: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  /** `away` gives the place to another for as long as a wait lasts. */
  async run<T>(task: (away: Away) => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await task(async (wait) => {
        this.#leave();
        try {
          return await wait();
        } finally {
          await this.#enter();
        }
      });
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running >= this.#width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
