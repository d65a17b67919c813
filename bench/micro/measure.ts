/**
 * Timing of short functions against each other. Contestants take turns, round by round, so that a machine
 * that slows down slows all of them; a figure is the median of its rounds with the 10th and 90th percentile
 * beside it, and a ratio is taken within each turn.
 */

export interface Contestant {
  readonly name: string;
  /**
   * Does the work `times` times and returns a number that depends on all of it, so that the compiler can
   * leave none of it out.
   */
  readonly run: (times: number) => number;
}

export interface Spread {
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

export interface Comparison {
  /** Nanoseconds of one call, per contestant in the order given. */
  readonly nanoseconds: readonly Spread[];
  /** First contestant over each other one, turn by turn. */
  readonly ratios: readonly Spread[];
  readonly rounds: number;
  /** Depends on all work done. */
  readonly sink: number;
}

export interface MeasureOptions {
  readonly rounds: number;
  /** Length of one round of one contestant. */
  readonly roundMs: number;
  readonly signal: AbortSignal;
}

/** Warms every contestant up, finds how many calls fill a round, then lets them take turns. */
export async function alternate(
  contestants: readonly Contestant[],
  options: MeasureOptions,
): Promise<Comparison> {
  let sink = 0;
  const times = contestants.map((contestant) => {
    const [count, result] = calibrate(contestant, options.roundMs);
    sink ^= result;
    return count;
  });
  const samples: number[][] = contestants.map(() => []);
  const ratios: number[][] = contestants.slice(1).map(() => []);
  for (let round = 0; round < options.rounds; round++) {
    const turn = contestants.map((contestant, index) => {
      const count = times[index] as number;
      const start = process.hrtime.bigint();
      sink ^= contestant.run(count);
      return Number(process.hrtime.bigint() - start) / count;
    });
    for (const [index, value] of turn.entries()) {
      samples[index]?.push(value);
      if (index > 0) ratios[index - 1]?.push((turn[0] as number) / value);
    }
    // Lets Ctrl-C be seen between rounds.
    await new Promise((resolve) => setImmediate(resolve));
    options.signal.throwIfAborted();
  }
  return { nanoseconds: samples.map(spreadOf), ratios: ratios.map(spreadOf), rounds: options.rounds, sink };
}

/** Doubles the number of calls until they fill a round: compiles and warms as a side effect. */
function calibrate(contestant: Contestant, roundMs: number): [number, number] {
  let sink = 0;
  for (let count = 1; ; count *= 2) {
    const start = process.hrtime.bigint();
    sink ^= contestant.run(count);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    if (ms >= roundMs / 2) return [Math.max(1, Math.round((count * roundMs) / ms)), sink];
  }
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
  return { median: at(0.5), p10: at(0.1), p90: at(0.9) };
}
