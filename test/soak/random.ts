/** Numbers that a seed decides, the same on every machine (xorshift of 32 bits, its state mixed once). */
export class SeededRandom {
  #state: number;

  constructor(...seeds: readonly number[]) {
    let state = 0x9e3779b9;
    for (const seed of seeds) {
      state = Math.imul(state ^ seed, 0x85ebca6b);
      state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
      state ^= state >>> 16;
    }
    this.#state = state === 0 ? 1 : state;
  }

  /** At least 0, below 1. */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  shuffled<T>(values: readonly T[]): T[] {
    const left = [...values];
    const result: T[] = [];
    while (left.length > 0) result.push(...left.splice(this.between(0, left.length - 1), 1));
    return result;
  }
}
