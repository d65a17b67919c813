import type { Parsed } from './address.ts';

/**
 * `1-20`, `1,3,7-9`, a number, or a list of these, in the order given. Used for broker ids and their ports.
 * The count is bounded before anything is built.
 */
export function parseNumbers(
  value: string | number | readonly (string | number)[],
  lowest: number,
  highest: number,
): Parsed<readonly number[]> {
  const texts = (Array.isArray(value) ? value : [value]).flatMap((one) => String(one).split(','));
  const found: number[] = [];
  const seen = new Set<number>();
  for (const text of texts) {
    const trimmed = text.trim();
    if (trimmed === '') continue;
    const match = /^(\d{1,10})(?:\s*-\s*(\d{1,10}))?$/.exec(trimmed);
    if (match === null)
      return refuse(`"${trimmed}" is not a number or a range; write for example 1-3 or 1,2,5`);
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (first < lowest || last > highest) return refuse(`${trimmed} lies outside of ${lowest} to ${highest}`);
    if (last < first) return refuse(`the range ${trimmed} runs backwards`);
    if (found.length + last - first >= 10_000) return refuse('more than 10,000 numbers');
    for (let number = first; number <= last; number += 1) {
      if (seen.has(number)) return refuse(`${number} stands there twice`);
      seen.add(number);
      found.push(number);
    }
  }
  return found.length === 0 ? refuse('no number') : { ok: true, value: found };
}

function refuse(message: string): { ok: false; message: string } {
  return { ok: false, message };
}
