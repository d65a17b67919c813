/**
 * `1-20`, `1,3,7-9`, a number, or a list of these, in the order given. Used for broker ids and their ports.
 * The count is bounded before anything is built.
 */
export function readNumbers(
  value: string | number | readonly (string | number)[],
  lowest: number,
  highest: number,
): Numbers {
  const texts = (Array.isArray(value) ? value : [value]).flatMap((one) => String(one).split(','));
  const numbers: number[] = [];
  const messages: string[] = [];
  const seen = new Set<number>();
  const twice = new Set<number>();
  for (const text of texts) {
    const trimmed = text.trim();
    if (trimmed === '') continue;
    const match = /^(\d{1,10})(?:\s*-\s*(\d{1,10}))?$/.exec(trimmed);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null) {
      messages.push(`"${trimmed}" is not a number or a range; write for example 1-3 or 1,2,5`);
    } else if (first < lowest || last > highest) {
      messages.push(`${trimmed} lies outside of ${lowest} to ${highest}`);
    } else if (last < first) {
      messages.push(`the range ${trimmed} runs backwards; write ${last}-${first}`);
    } else if (numbers.length + last - first >= MOST_NUMBERS) {
      return { numbers, messages: [...messages, 'more than 10,000 numbers'] };
    } else {
      for (let number = first; number <= last; number += 1) {
        if (seen.has(number)) twice.add(number);
        seen.add(number);
        numbers.push(number);
      }
    }
  }
  if (twice.size > 0) messages.push(`${showNumbers([...twice])} given twice; name each number once`);
  if (numbers.length === 0 && messages.length === 0) {
    messages.push('no number; write for example 1-3 or 1,2,5');
  }
  return { numbers, messages };
}

export interface Numbers {
  /** What could be read, faults or not. */
  readonly numbers: readonly number[];
  readonly messages: readonly string[];
}

const MOST_NUMBERS = 10_000;

/** `3 is`, `3, 5-7 are`: numbers in order as ranges, with their verb. */
export function showNumbers(numbers: readonly number[]): string {
  return `${asRanges(numbers)} ${numbers.length === 1 ? 'is' : 'are'}`;
}

export function asRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const shown = ranges
    .slice(0, MOST_RANGES)
    .map(([first, last]) => (first === last ? String(first) : `${first}-${last}`));
  return `${shown.join(', ')}${ranges.length > MOST_RANGES ? ', …' : ''}`;
}

const MOST_RANGES = 8;
