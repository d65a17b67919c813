import { parseTopicEntry } from '../config/topic-entries.ts';
import { usage } from './io.ts';

/** `--topics a,b,/pay-.{1,3}/`: split at commas, but not inside the slashes of a pattern. */
export function splitTopics(text: string, flag = '--topics'): string[] {
  const found: string[] = [];
  let at = 0;
  while (at <= text.length) {
    while (text[at] === ' ') at += 1;
    let end: number;
    if (text[at] === '/') {
      const close = /\/\s*(,|$)/g;
      close.lastIndex = at + 1;
      const match = close.exec(text);
      if (match === null) throw usage(`${flag}: the pattern ${text.slice(at)} has no closing /`);
      end = match.index + 1;
    } else {
      const comma = text.indexOf(',', at);
      end = comma < 0 ? text.length : comma;
    }
    const entry = text.slice(at, end).trim();
    const parsed = parseTopicEntry(entry);
    if (parsed.kind === 'bad') throw usage(`${flag}: ${parsed.message}`);
    found.push(entry);
    const comma = text.indexOf(',', end);
    if (comma < 0) break;
    at = comma + 1;
  }
  return found;
}

export function mirrorName(name: string): string {
  if (name.trim() === '') throw usage('the name of the mirror is empty');
  return name;
}
