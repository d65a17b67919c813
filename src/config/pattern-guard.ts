import { createContext, Script } from 'node:vm';

/**
 * A regular expression can need longer than the universe is old for a name of 30 letters, and nothing in JavaScript
 * stops it but a time-out around the whole script. So patterns that people wrote are matched here only.
 */
export function matching(pattern: RegExp, names: readonly string[]): ReadonlySet<string> | 'too-slow' {
  if (names.length === 0) return new Set();
  if (!canBeSlow(pattern.source)) return new Set(names.filter((name) => pattern.test(name)));
  // once more, because a machine that stood still for a moment is no fault of the pattern
  return attempt(pattern, names) ?? attempt(pattern, names) ?? 'too-slow';
}

const TIMEOUT_MS = 250;
const script = new Script('names.filter((name) => pattern.test(name))');
const world = createContext({ names: [] as readonly string[], pattern: /./ });

function attempt(pattern: RegExp, names: readonly string[]): ReadonlySet<string> | null {
  world['names'] = names;
  world['pattern'] = pattern;
  try {
    return new Set(script.runInContext(world, { timeout: TIMEOUT_MS }) as string[]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw cause;
  } finally {
    world['names'] = [];
  }
}

/**
 * Whether the pattern takes too long for some legal name. Tried with names of 249 letters that repeat a part of the
 * pattern and then break off, which is what makes nested repetitions try every way to split a name.
 */
export function isTooSlow(pattern: RegExp, text: string): boolean {
  return canBeSlow(text) && matching(pattern, probes(text)) === 'too-slow';
}

/** Without anything repeated, optional or to choose from there is one way to match a name. Our own `^(?:` repeats nothing. */
function canBeSlow(text: string): boolean {
  return /[*+?{|]/.test(text.replaceAll('(?:', '('));
}

const LONGEST_NAME = 249;
const MOST_PARTS = 40;

function probes(text: string): string[] {
  const letters = text.match(/[a-zA-Z0-9._-]/g) ?? [];
  const runs = text.match(/[a-zA-Z0-9._-]{2,}/g) ?? [];
  const parts = [...new Set(['a', '0', '.', '-', '_', 'A', ...letters, ...runs])].slice(0, MOST_PARTS);
  // what stands before the first repetition has to be there, or nothing is tried at all
  const lead = /^[a-zA-Z0-9._-]*/.exec(text.replaceAll('\\', ''))?.[0].slice(0, LONGEST_NAME / 2) ?? '';
  return [...new Set(['', lead, lead.slice(0, -1)])].flatMap((start) =>
    parts.flatMap((part) => {
      const length = LONGEST_NAME - start.length - 1;
      const repeated = part.repeat(Math.ceil(length / part.length)).slice(0, length);
      return ['-', '.', '_', 'Z', '0'].map((end) => start + repeated + end);
    }),
  );
}
