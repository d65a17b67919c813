import { isTooSlow, matching } from './pattern-guard.ts';

/** Entries of `topics.include` and `groups.include`: a literal name, or `/.../` matched against the whole name. */
export type TopicEntry =
  | { readonly kind: 'literal'; readonly name: string }
  | { readonly kind: 'pattern'; readonly text: string; readonly regex: RegExp }
  | { readonly kind: 'bad'; readonly message: string };

const LEGAL_TOPIC = /^[a-zA-Z0-9._-]{1,249}$/;

export function isPattern(entry: string): boolean {
  return entry.length > 1 && entry.startsWith('/') && entry.endsWith('/');
}

export function parseTopicEntry(entry: string): TopicEntry {
  if (isPattern(entry)) return parsePattern(entry);
  if (entry === '') return bad('an empty name; write a topic name, or a pattern such as /payments-.*/');
  if (/^\^|[*+?()[\]{}|\\]|\$$/.test(entry)) {
    return bad(
      `"${entry}" is not a topic name; a regular expression is written between slashes: /${meantPattern(entry)}/`,
    );
  }
  if (!LEGAL_TOPIC.test(entry) || entry === '.' || entry === '..') {
    return bad(`"${entry}" is not a topic name: 1 to 249 letters, digits, ".", "_" and "-"`);
  }
  if (entry.startsWith('__')) {
    return bad(`"${entry}" is an internal topic; names that begin with "__" are never mirrored`);
  }
  return { kind: 'literal', name: entry };
}

/** In `orders-*` the star stands for any text, as in file names. */
function meantPattern(entry: string): string {
  return /^[a-zA-Z0-9._*-]+$/.test(entry) ? entry.replace(/(?<!\.)\*/g, '.*') : entry;
}

/** A letter that is repeated is hardly ever meant: `/orders-*\/` has as many dashes as you like, and no more. */
export function isLikelyGlob(entry: TopicEntry): boolean {
  return entry.kind === 'pattern' && /^[a-zA-Z0-9_*-]+$/.test(entry.text) && entry.text.includes('*');
}

/** What is excluded may be an internal topic, that changes nothing. */
export function parseExcludedTopic(entry: string): TopicEntry {
  return entry.startsWith('__') && LEGAL_TOPIC.test(entry)
    ? { kind: 'literal', name: entry }
    : parseTopicEntry(entry);
}

/** Group ids may hold anything, so only patterns can be wrong. */
export function parsePattern(entry: string): TopicEntry {
  const text = entry.slice(1, -1);
  if (text === '') return bad('an empty pattern matches no name; write for example /payments-.*/');
  try {
    // by itself first: "a)|(b" is none, though it is one inside of the group below
    new RegExp(text, 'u');
    return { kind: 'pattern', text, regex: new RegExp(`^(?:${text})$`, 'u') };
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^.*: /, '') : String(error);
    return bad(`${entry} is not a regular expression: ${why}`);
  }
}

/** The sentence for a pattern that needs too long; null for every other entry. */
export function slowness(entry: TopicEntry): string | null {
  if (entry.kind !== 'pattern' || !isTooSlow(entry.regex, entry.text)) return null;
  return `/${entry.text}/ takes too long to match some names; write it without repetitions inside repetitions`;
}

export class SlowPattern extends Error {
  override readonly name = 'SlowPattern';
}

/** Those of the names that one of the entries means. @throws SlowPattern naming a pattern that takes too long */
export function coveredBy(entries: readonly TopicEntry[], names: readonly string[]): ReadonlySet<string> {
  const literals = new Set(entries.flatMap((entry) => (entry.kind === 'literal' ? [entry.name] : [])));
  const covered = new Set(names.filter((name) => literals.has(name)));
  for (const entry of entries) {
    if (entry.kind !== 'pattern') continue;
    const matched = matching(entry.regex, names);
    if (matched === 'too-slow') {
      throw new SlowPattern(
        `/${entry.text}/ takes too long to match the topics there are; write it without repetitions inside repetitions`,
      );
    }
    for (const name of matched) covered.add(name);
  }
  return covered;
}

function bad(message: string): TopicEntry {
  return { kind: 'bad', message };
}
