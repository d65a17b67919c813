import { basename } from 'node:path';

/**
 * What else lies in a partition's folder, by its name. Their bytes may look like batches of an old format, so they are
 * told apart before they are read. @returns undefined for what may be a segment
 */
export function otherFileOfPartition(path: string): string | undefined {
  const name = basename(path);
  const named = NAMED.get(name);
  if (named !== undefined) return `${named}, not a log segment`;
  const [, base = '', kind = ''] = /^(.+)\.([a-z]+)(?:\.deleted|\.cleaned|\.swap)?$/.exec(name) ?? [];
  const what = BY_ENDING.get(kind);
  return what === undefined ? undefined : `${what}, not a log segment; the records are in ${base}.log`;
}

const BY_ENDING: ReadonlyMap<string, string> = new Map([
  ['index', 'an offset index'],
  ['timeindex', 'a time index'],
  ['txnindex', 'an index of aborted transactions'],
  ['snapshot', 'a snapshot of producer states'],
]);

const NAMED: ReadonlyMap<string, string> = new Map([
  ['partition.metadata', 'the topic id of the partition'],
  ['leader-epoch-checkpoint', 'the list of leader epochs'],
]);
