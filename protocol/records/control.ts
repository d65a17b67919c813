import { readUnsignedVarint, unsignedVarintSize, writeUnsignedVarint } from '../primitives/varint.ts';
import type { LogRecord } from './records.ts';

/**
 * Control records: what brokers write between the data. Key: int16 version, int16 type. Types 0 and 1 end a
 * transaction, 2 to 6 belong to KRaft's own log, 7 is KIP-1279's barrier. Versions above those known here are
 * read as far as the known fields go, as Kafka's own reader does.
 */

export const ControlType = {
  ABORT: 0,
  COMMIT: 1,
  LEADER_CHANGE: 2,
  SNAPSHOT_HEADER: 3,
  SNAPSHOT_FOOTER: 4,
  KRAFT_VERSION: 5,
  KRAFT_VOTERS: 6,
  MIRROR_PID_RESET: 7,
} as const;

const TYPE_NAMES = [
  'ABORT',
  'COMMIT',
  'LEADER_CHANGE',
  'SNAPSHOT_HEADER',
  'SNAPSHOT_FOOTER',
  'KRAFT_VERSION',
  'KRAFT_VOTERS',
  'MIRROR_PID_RESET',
] as const;

export type ControlTypeName = (typeof TYPE_NAMES)[number] | `UNKNOWN_${number}`;

/** Tag under which the barrier that we show carries the generation of the mirror topic (int32). */
export const GENERATION_TAG = 10000;

/** A control record taken apart. `unreadable` keeps the reason: the record is still a control record. */
export type ControlRecord =
  | {
      readonly kind: 'end-transaction';
      readonly type: 'ABORT' | 'COMMIT';
      readonly version: number;
      readonly coordinatorEpoch: number;
    }
  | ({ readonly kind: 'mirror-pid-reset' } & MirrorPidReset)
  | { readonly kind: 'leader-change'; readonly version: number; readonly leaderId: number }
  | { readonly kind: 'kraft-version'; readonly version: number; readonly kraftVersion: number }
  | {
      readonly kind: 'other';
      readonly type: ControlTypeName;
      readonly typeNumber: number;
      readonly version: number | undefined;
    }
  | { readonly kind: 'unreadable'; readonly typeNumber: number | undefined; readonly reason: string };

/** MirrorPidResetRecord. */
export interface MirrorPidReset {
  readonly version: number;
  /** Absent in the later form of KIP-1279, which has no such field. */
  readonly sourceClusterId?: string;
  /** Tagged field 10000, written by us only. */
  readonly generation?: number;
}

export function controlTypeName(type: number): ControlTypeName {
  return TYPE_NAMES[type] ?? `UNKNOWN_${type}`;
}

/** Reads key and value of a record that lies in a control batch. Never throws. */
export function parseControlRecord(record: Pick<LogRecord, 'key' | 'value'>): ControlRecord {
  const key = parseControlKey(record.key);
  if (key === undefined) {
    const length = record.key?.length ?? 'no';
    return { kind: 'unreadable', typeNumber: undefined, reason: `key of ${length} bytes, 4 expected` };
  }
  const value = record.value ?? Buffer.alloc(0);
  switch (key.type) {
    case ControlType.ABORT:
    case ControlType.COMMIT: {
      if (value.length < 6) return tooShort(key.type, value);
      const type = key.type === ControlType.COMMIT ? 'COMMIT' : 'ABORT';
      return {
        kind: 'end-transaction',
        type,
        version: value.readInt16BE(0),
        coordinatorEpoch: value.readInt32BE(2),
      };
    }
    case ControlType.LEADER_CHANGE:
      if (value.length < 6) return tooShort(key.type, value);
      return { kind: 'leader-change', version: value.readInt16BE(0), leaderId: value.readInt32BE(2) };
    case ControlType.KRAFT_VERSION:
      if (value.length < 4) return tooShort(key.type, value);
      return { kind: 'kraft-version', version: value.readInt16BE(0), kraftVersion: value.readInt16BE(2) };
    case ControlType.MIRROR_PID_RESET: {
      const reset = parseMirrorPidReset(value);
      if (typeof reset === 'string') return { kind: 'unreadable', typeNumber: key.type, reason: reset };
      return { kind: 'mirror-pid-reset', ...reset };
    }
    default:
      return {
        kind: 'other',
        type: controlTypeName(key.type),
        typeNumber: key.type,
        version: value.length >= 2 ? value.readInt16BE(0) : undefined,
      };
  }
}

/** Version and type of a control key; undefined when it is no control key. */
export function parseControlKey(key: Buffer | null): { version: number; type: number } | undefined {
  if (key === null || key.length < 4) return undefined;
  return { version: key.readInt16BE(0), type: key.readInt16BE(2) };
}

/**
 * Reads the value of a type 7 record in both forms that were proposed (with and without SourceClusterId).
 * They can't be told by version, so whichever uses up the bytes exactly is taken, the longer form first.
 * @returns the record, or what is wrong with it
 */
export function parseMirrorPidReset(value: Buffer): MirrorPidReset | string {
  if (value.length < 3) return `value of ${value.length} bytes, at least 3 expected`;
  const version = value.readInt16BE(0);
  if (version < 0) return `version ${version}`;
  const cursor = { at: 2 };
  const length = readUnsignedVarint(value, cursor, value.length) - 1;
  if (length <= value.length - cursor.at) {
    const text = length > 0 ? value.toString('utf8', cursor.at, cursor.at + length) : '';
    const generation = readTags(value, cursor.at + Math.max(0, length));
    if (generation !== false) return { version, sourceClusterId: text, ...generation };
  }
  const generation = readTags(value, 2);
  if (generation !== false) return { version, ...generation };
  return 'neither form of MirrorPidResetRecord fits its bytes';
}

/** Tagged fields that end exactly at the end of the value; false when they don't. */
function readTags(value: Buffer, start: number): { generation?: number } | false {
  const cursor = { at: start };
  const count = readUnsignedVarint(value, cursor, value.length);
  if (count < 0 || count > (value.length - cursor.at) / 2) return false;
  let found: { generation?: number } = {};
  for (let index = 0; index < count; index++) {
    const tag = readUnsignedVarint(value, cursor, value.length);
    const size = readUnsignedVarint(value, cursor, value.length);
    if (tag < 0 || size < 0 || size > value.length - cursor.at) return false;
    if (tag === GENERATION_TAG && size === 4) found = { generation: value.readInt32BE(cursor.at) };
    cursor.at += size;
  }
  return cursor.at === value.length ? found : false;
}

export function buildControlKey(type: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeInt16BE(type, 2);
  return key;
}

/** EndTxnMarker v0: int16 version, int32 coordinator epoch. */
export function buildEndTransactionValue(coordinatorEpoch: number): Buffer {
  const value = Buffer.alloc(6);
  value.writeInt32BE(coordinatorEpoch, 2);
  return value;
}

/** MirrorPidResetRecord v0, in the form without SourceClusterId when that is undefined. */
export function buildMirrorPidResetValue(reset: Omit<MirrorPidReset, 'version'>): Buffer {
  const text = reset.sourceClusterId === undefined ? undefined : Buffer.from(reset.sourceClusterId, 'utf8');
  const textBytes = text === undefined ? 0 : unsignedVarintSize(text.length + 1) + text.length;
  const tagBytes = reset.generation === undefined ? 1 : 1 + unsignedVarintSize(GENERATION_TAG) + 1 + 4;
  const value = Buffer.alloc(2 + textBytes + tagBytes);
  let at = 2;
  if (text !== undefined) {
    at = writeUnsignedVarint(value, at, text.length + 1);
    at += text.copy(value, at);
  }
  if (reset.generation === undefined) return value;
  at = writeUnsignedVarint(value, at, 1);
  at = writeUnsignedVarint(value, at, GENERATION_TAG);
  at = writeUnsignedVarint(value, at, 4);
  value.writeInt32BE(reset.generation, at);
  return value;
}

function tooShort(type: number, value: Buffer): ControlRecord {
  const reason = `${controlTypeName(type)} value of ${value.length} bytes is too short`;
  return { kind: 'unreadable', typeNumber: type, reason };
}
