import { crc32c } from '../../../protocol/records/crc32c.ts';
import type { StateChange, StateRecord } from './types.ts';

/**
 * Keys of the state topic and where their records live. Both are part of the contract: a key that moved to another
 * state partition would be found twice.
 *
 *     mirror/NAME  topic/T  command/ID  result/ID        state partition 0
 *     owner/N                                            state partition N
 *     partition/T/P                                      CRC-32C of `T/P` (UTF-8) modulo the number of them
 */
export type StateKey =
  | { readonly kind: 'mirror'; readonly name: string }
  | { readonly kind: 'topic'; readonly topic: string }
  | { readonly kind: 'partition'; readonly topic: string; readonly partition: number }
  | { readonly kind: 'owner'; readonly statePartition: number }
  | { readonly kind: 'command'; readonly id: string }
  | { readonly kind: 'result'; readonly id: string };

export function keyText(key: StateKey): string {
  switch (key.kind) {
    case 'mirror':
      return `mirror/${key.name}`;
    case 'topic':
      return `topic/${key.topic}`;
    case 'partition':
      return `partition/${key.topic}/${key.partition}`;
    case 'owner':
      return `owner/${key.statePartition}`;
    case 'command':
      return `command/${key.id}`;
    case 'result':
      return `result/${key.id}`;
  }
}

/** undefined for a key that this version does not know. */
export function parseKey(text: string): StateKey | undefined {
  const slash = text.indexOf('/');
  const rest = text.slice(slash + 1);
  if (slash < 1 || rest === '') return undefined;
  switch (text.slice(0, slash)) {
    case 'mirror':
      return { kind: 'mirror', name: rest };
    case 'topic':
      return { kind: 'topic', topic: rest };
    case 'partition': {
      const last = rest.lastIndexOf('/');
      const partition = wholeNumber(rest.slice(last + 1));
      return last < 1 || partition === undefined
        ? undefined
        : { kind: 'partition', topic: rest.slice(0, last), partition };
    }
    case 'owner': {
      const statePartition = wholeNumber(rest);
      return statePartition === undefined ? undefined : { kind: 'owner', statePartition };
    }
    case 'command':
      return { kind: 'command', id: rest };
    case 'result':
      return { kind: 'result', id: rest };
    default:
      return undefined;
  }
}

/** Records carry the fields of their key; a mirror's is its name. */
export function keyOfRecord(record: StateRecord): StateKey {
  return record;
}

export function keyOfChange(change: StateChange): StateKey {
  if ('put' in change) return change.put;
  const gone = change.delete;
  if (gone.kind === 'partition') return gone;
  return gone.kind === 'topic' ? { kind: 'topic', topic: gone.name } : { kind: 'mirror', name: gone.name };
}

/** State partition of a mirror partition's records, its owner and its released end. */
export function statePartitionOf(topic: string, partition: number, count: number): number {
  const name = Buffer.from(`${topic}/${partition}`, 'utf8');
  return crc32c(name, 0, name.length) % count;
}

export function placementOf(key: StateKey, count: number): number {
  if (key.kind === 'partition') return statePartitionOf(key.topic, key.partition, count);
  return key.kind === 'owner' ? key.statePartition : 0;
}

function wholeNumber(text: string): number | undefined {
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : undefined;
}
