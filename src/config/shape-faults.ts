import type { z } from 'zod';
import type { Path, Places } from './places.ts';
import type { Fault } from './types.ts';

/** Turns what zod found into sentences that name the place, what was expected and what would be right. */
type Issue = z.core.$ZodIssue;

export function shapeFaults(
  issues: readonly Issue[],
  schema: z.ZodType,
  value: unknown,
  base: Path,
  places: Places,
): Fault[] {
  return issues.flatMap((issue) => {
    const inner = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const path = [...base, ...inner];
    const found = at(value, inner);
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(schema, inner);
      return issue.keys.map((key) => {
        const near = nearest(key, known);
        const hint = near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
        return places.keyFault([...path, key], `this key is not known here; ${hint}`);
      });
    }
    if (found === undefined) return [places.fault(path, `${expectation(issue)} is missing`)];
    return [places.fault(path, sentence(issue, found))];
  });
}

/** A copy of the value without the keys that the schema does not know. */
export function withoutUnknownKeys(value: unknown, issues: readonly Issue[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const holder = at(copy, issue.path as Path) as Record<string, unknown>;
    for (const key of issue.keys) delete holder[key];
  }
  return copy;
}

function sentence(issue: Issue, found: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${expectation(issue)}, found ${describe(found)}`;
    case 'invalid_value':
      return `must be ${expectation(issue)}, found ${describe(found)}`;
    case 'too_small':
      return `must be at least ${issue.minimum}, found ${describe(found)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}, found ${describe(found)}`;
    case 'invalid_union':
      return `must be a text or a number, found ${describe(found)}`;
    default:
      return issue.message;
  }
}

function expectation(issue: Issue): string {
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'invalid_union') return 'a text or a number';
  if (issue.code !== 'invalid_type') return 'a value';
  switch (issue.expected) {
    case 'string':
      return 'a text';
    case 'int':
      return 'a whole number';
    case 'number':
      return 'a number';
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list';
    case 'object':
    case 'record':
      return 'a map of keys and values';
    default:
      return issue.expected;
  }
}

function describe(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  // a value can be a secret in the wrong place, so texts are not repeated
  if (typeof value === 'string') return value.length > 40 ? 'a text' : `"${value}"`;
  return JSON.stringify(value) ?? 'nothing';
}

function at(value: unknown, path: Path): unknown {
  let here = value;
  for (const part of path) {
    if (here === null || typeof here !== 'object') return undefined;
    here = (here as Record<string | number, unknown>)[part];
  }
  return here;
}

interface Peelable {
  readonly shape?: Record<string, Peelable>;
  readonly element?: Peelable;
  readonly def?: { readonly innerType?: Peelable };
}

function knownKeys(schema: z.ZodType, path: Path): readonly string[] {
  let here = peel(schema as unknown as Peelable);
  for (const part of path) {
    const next = here.shape?.[String(part)] ?? here.element;
    if (next === undefined) return [];
    here = peel(next);
  }
  return Object.keys(here.shape ?? {});
}

function peel(schema: Peelable): Peelable {
  let here = schema;
  while (here.shape === undefined && here.def?.innerType !== undefined) here = here.def.innerType;
  return here;
}

function nearest(key: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(key.length / 3)) + 1;
  for (const one of known) {
    const distance = editDistance(key.toLowerCase(), one.toLowerCase());
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
