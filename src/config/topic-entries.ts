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
  if (entry === '') return bad('an empty name');
  if (/^\^|[*+?()[\]{}|\\]|\$$/.test(entry)) {
    return bad(`"${entry}" is not a topic name; a regular expression is written between slashes: /${entry}/`);
  }
  if (!LEGAL_TOPIC.test(entry) || entry === '.' || entry === '..') {
    return bad(`"${entry}" is not a topic name: 1 to 249 letters, digits, ".", "_" and "-"`);
  }
  if (entry.startsWith('__')) {
    return bad(`"${entry}" is an internal topic; names that begin with "__" are never mirrored`);
  }
  return { kind: 'literal', name: entry };
}

/** Group ids may hold anything, so only patterns can be wrong. */
export function parsePattern(entry: string): TopicEntry {
  const text = entry.slice(1, -1);
  if (text === '') return bad('an empty pattern matches no name; write for example /payments-.*/');
  try {
    return { kind: 'pattern', text, regex: new RegExp(`^(?:${text})$`, 'u') };
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^.*: /, '') : String(error);
    return bad(`${entry} is not a regular expression: ${why}`);
  }
}

export function covers(entry: TopicEntry, topic: string): boolean {
  if (entry.kind === 'literal') return entry.name === topic;
  return entry.kind === 'pattern' && entry.regex.test(topic);
}

function bad(message: string): TopicEntry {
  return { kind: 'bad', message };
}
