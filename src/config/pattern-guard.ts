import { createContext, Script } from 'node:vm';

/**
 * A regular expression can need longer than the universe is old for a name of 60 letters, and nothing in JavaScript
 * stops it but a time-out around the whole script. So patterns that people wrote are matched here only.
 */
export function matching(
  pattern: RegExp,
  names: readonly string[],
  timeoutMs = MATCH_MS + names.length,
): ReadonlySet<string> | 'too-slow' {
  if (names.length === 0) return new Set();
  if (!canBeSlow(pattern.source)) return new Set(names.filter((name) => pattern.test(name)));
  // once more, because a machine that stood still for a moment is no fault of the pattern
  return attempt(pattern, names, timeoutMs) ?? attempt(pattern, names, timeoutMs) ?? 'too-slow';
}

const MATCH_MS = 1_000;
const script = new Script('names.filter((name) => pattern.test(name))');
const world = createContext({ names: [] as readonly string[], pattern: /./ });

function attempt(pattern: RegExp, names: readonly string[], timeout: number): ReadonlySet<string> | null {
  world['names'] = names;
  world['pattern'] = pattern;
  try {
    return new Set(script.runInContext(world, { timeout }) as string[]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw cause;
  } finally {
    world['names'] = [];
  }
}

const PROBE_MS = 500;
const ALL_PROBES_MS = 2_000;
const MOST_PARTS = 40;
const LONGEST_NAME = 249;

/**
 * Whether the match of some legal name would never end. Tried with names that repeat a part of the pattern and then
 * break off, which is what makes repetitions inside repetitions try every way to split a name. The names are just long
 * enough to tell ways that double with each part (2^32 and more) from those that four wildcards in a row have (10^6):
 * these are slow, and end.
 */
export function isTooSlow(pattern: RegExp, text: string): boolean {
  if (!canBeSlow(text)) return false;
  const begun = performance.now();
  for (const names of probes(text)) {
    if (matching(pattern, names, PROBE_MS) === 'too-slow') return true;
    if (performance.now() - begun > ALL_PROBES_MS) return false;
  }
  return false;
}

/** Without anything repeated, optional or to choose from there is one way to match a name. */
function canBeSlow(text: string): boolean {
  // the group that is put around every pattern is none of these
  return /[*+?{|]/.test(text.replaceAll('(?:', '('));
}

/** For each part a few names. */
function probes(text: string): string[][] {
  const letters = text.match(/[a-zA-Z0-9._-]/g) ?? [];
  const runs = text.match(/[a-zA-Z0-9._-]{2,}/g) ?? [];
  const parts = [...new Set(['a', '0', '.', '-', '_', 'A', ...letters, ...runs])].slice(0, MOST_PARTS);
  // what stands before the first repetition has to be there, or nothing is tried at all
  const lead = /^[a-zA-Z0-9._-]*/.exec(text.replaceAll('\\', ''))?.[0].slice(0, LONGEST_NAME / 2) ?? '';
  const starts = [...new Set(['', lead, lead.slice(0, -1)])];
  return parts.map((part) => {
    const repeated = part.repeat(part.length === 1 ? 64 : 32);
    return starts.flatMap((start) =>
      ['-', '.', '_', 'Z', '0'].map((end) => `${(start + repeated).slice(0, LONGEST_NAME - 1)}${end}`),
    );
  });
}
