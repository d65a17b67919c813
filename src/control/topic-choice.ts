import { runInNewContext } from 'node:vm';

/**
 * Which topics a verb or a YAML entry means. A literal name is a literal; `/.../` is a regular expression that
 * has to match the whole name (DESIGN section 14). KIP-1279's patterns are regular expressions without slashes;
 * the RPC handlers add them.
 */

export interface TopicChoice {
  readonly literals: readonly string[];
  readonly patterns: readonly RegExp[];
}

export class BadTopicChoice extends Error {
  override readonly name = 'BadTopicChoice';
}

/** Kafka's own rule for topic names. */
const legalName = /^[a-zA-Z0-9._-]{1,249}$/;

/** Internal topics (`__consumer_offsets`, `__mirror_state`, …) are never mirrored, whatever a pattern says. */
export function isInternalTopic(name: string): boolean {
  return name.startsWith('__');
}

export function isLegalTopicName(name: string): boolean {
  return legalName.test(name) && name !== '.' && name !== '..';
}

/** @throws BadTopicChoice naming the entry that is neither a topic name nor a valid regular expression */
export function parseTopicChoice(entries: readonly string[]): TopicChoice {
  const literals: string[] = [];
  const patterns: RegExp[] = [];
  for (const entry of entries) {
    if (entry.length > 1 && entry.startsWith('/') && entry.endsWith('/')) {
      patterns.push(wholeNamePattern(entry.slice(1, -1), entry));
    } else if (isLegalTopicName(entry)) {
      literals.push(entry);
    } else {
      throw new BadTopicChoice(
        `${JSON.stringify(entry)} is not a topic name; a regular expression is written between slashes, /like-.*/`,
      );
    }
  }
  return { literals, patterns };
}

function wholeNamePattern(source: string, shown: string): RegExp {
  try {
    // by itself first: "a)|(b" is none, though it is one inside of the group
    new RegExp(source, 'u');
    return new RegExp(`^(?:${source})$`, 'u');
  } catch (cause) {
    throw new BadTopicChoice(`${shown} is not a regular expression: ${(cause as Error).message}`);
  }
}

export function matches(choice: TopicChoice, topic: string): boolean {
  return chosenOf(choice, [topic]).has(topic);
}

/** Those of the names that a choice means. @throws BadTopicChoice for a pattern that takes too long to match */
export function chosenOf(choice: TopicChoice, names: readonly string[]): ReadonlySet<string> {
  const literals = new Set(choice.literals);
  const chosen = new Set(names.filter((name) => literals.has(name)));
  for (const pattern of choice.patterns) for (const name of matching(pattern, names)) chosen.add(name);
  return chosen;
}

/** In a context of its own, because only there does a match that never ends have an end. */
function matching(pattern: RegExp, names: readonly string[]): readonly string[] {
  try {
    const world = { names, pattern };
    const timeout = patternMs;
    return runInNewContext('names.filter((name) => pattern.test(name))', world, { timeout }) as string[];
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause;
    throw new BadTopicChoice(
      `${pattern.source} takes too long to match the topics there are (above ${patternMs} ms): write it without ` +
        'repetitions inside repetitions',
    );
  }
}

const patternMs = 500;

export interface Resolution {
  /** In name order, without internal topics. */
  readonly topics: readonly string[];
  /** Literal names that stand nowhere in the list. */
  readonly missing: readonly string[];
  /** Literal names of internal topics: refused, never mirrored. */
  readonly internal: readonly string[];
}

/** Resolves include minus exclude against the topics that exist. */
export function resolveTopics(
  include: TopicChoice,
  exclude: TopicChoice,
  existing: readonly string[],
): Resolution {
  const wanted = chosenOf(include, existing);
  const unwanted = chosenOf(exclude, existing);
  const topics = existing
    .filter((name) => !isInternalTopic(name) && wanted.has(name) && !unwanted.has(name))
    .sort();
  const known = new Set(existing);
  return {
    topics,
    missing: include.literals.filter((name) => !isInternalTopic(name) && !known.has(name)),
    internal: include.literals.filter(isInternalTopic),
  };
}
