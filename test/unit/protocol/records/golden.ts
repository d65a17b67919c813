import { readFileSync } from 'node:fs';

/** Batches written by the Java client and broker code; `test/fixtures/java/GoldenBatches.java` prints them. */
const GOLDEN: ReadonlyMap<string, string> = new Map(
  readFileSync(new URL('../../../fixtures/golden-batches.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ') as [string, string]),
);

export const NOW = 1796031787239n;

/** A copy of its own for each caller: tests change batches in place. */
export function golden(name: string): Buffer {
  const hex = GOLDEN.get(name);
  if (hex === undefined) throw new Error(`no golden batch ${name}`);
  return Buffer.from(hex, 'hex');
}
