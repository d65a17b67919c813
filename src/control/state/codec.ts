import type protobuf from 'protobufjs/light.js';
import { stateRecordType } from './descriptor.ts';
import { keyOfRecord, keyText } from './keys.ts';
import type {
  Copier,
  DesiredState,
  OffsetRange,
  PartitionRecord,
  PartitionState,
  StateRecord,
  StopProgress,
  StopReport,
  Stored,
} from './types.ts';
import { textOf } from '../../net/error-text.ts';

/** Highest version of `state.proto` that this program reads; the one it writes. */
export const STATE_VERSION = 1;

/** A record can't be read. `newer`: it was written by a later Isthmus, so nothing may be decided without it. */
export class StateCodecError extends Error {
  readonly newer: boolean;

  constructor(message: string, newer = false) {
    super(message);
    this.name = 'StateCodecError';
    this.newer = newer;
  }
}

let recordType: protobuf.Type | undefined;

function envelope(): protobuf.Type {
  recordType ??= stateRecordType();
  return recordType;
}

/** Bytes of a record's value. `ownerEpoch` is the writer's incarnation, 0 for a submitted command. */
export function encodeRecord(record: StateRecord, ownerEpoch: number, version = STATE_VERSION): Buffer {
  const bytes = envelope()
    .encode({ version, ownerEpoch, [record.kind]: toWire(record) })
    .finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * @throws StateCodecError naming the key: written by a newer version, damaged, of another key, or with a 64-bit number
 *   that no offset or time can have
 */
export function decodeRecord(key: string, value: Uint8Array): Stored<StateRecord> {
  const type = envelope();
  let fields: Fields;
  try {
    fields = new Fields(
      key,
      type.toObject(type.decode(value), { longs: String, defaults: true, oneofs: true }),
    );
  } catch (error) {
    throw new StateCodecError(`state record ${key} is damaged: ${textOf(error)}`);
  }
  const version = fields.int('version');
  if (version > STATE_VERSION) {
    throw new StateCodecError(
      `state record ${key} has version ${version}; this program reads up to ${STATE_VERSION}. ` +
        'A newer Isthmus wrote it: run that one, or a later one',
      true,
    );
  }
  if (version < 1) throw new StateCodecError(`state record ${key} is damaged: it names no version`);
  const record = fromWire(fields);
  const named = keyText(keyOfRecord(record));
  if (named !== key) throw new StateCodecError(`state record ${key} is damaged: it is one of ${named}`);
  return { ...record, ownerEpoch: fields.int('ownerEpoch') };
}

/** Plain object as protobufjs takes it: longs as numbers or decimal text. */
function toWire(record: StateRecord): object {
  switch (record.kind) {
    case 'mirror':
      return { ...record, ...record.topics, deletedAt: record.deletedAt ?? 0 };
    case 'topic': {
      const sourceSettings = Object.entries(record.sourceSettings).map(([name, value]) => ({
        name,
        overridden: value !== null,
        value: value ?? '',
      }));
      return { ...record, mirror: record.mirror ?? '', sourceSettings };
    }
    case 'partition':
      return partitionToWire(record);
    case 'owner':
      return { ...record, ends: Object.entries(record.ends).map(([partition, end]) => ({ partition, end })) };
    case 'command':
    case 'result':
      return record;
  }
}

function partitionToWire(record: PartitionRecord): object {
  const { stop, report, lastMirrored, ...rest } = record;
  return {
    ...rest,
    openIds: record.openIds.map(String),
    lastMirroredOffset: lastMirrored.offset,
    lastMirroredEpoch: lastMirrored.sourceEpoch,
    ...(stop === null ? {} : { stop: { ...stop, barrierHash: stop.barrierHash.toString() } }),
    ...(report === null
      ? {}
      : { report: { ...report, cutTransactions: report.cutTransactions.map(String) } }),
  };
}

function fromWire(fields: Fields): StateRecord {
  const kind = fields.text('record') as StateRecord['kind'] | '';
  if (kind === '') throw new StateCodecError(`state record ${fields.key} is damaged: it holds nothing`);
  const body = fields.child(kind);
  switch (kind) {
    case 'mirror':
      return {
        kind,
        name: body.text('name'),
        source: body.text('source'),
        sourceClusterId: body.text('sourceClusterId'),
        destination: body.text('destination'),
        topics: { include: body.texts('include'), exclude: body.texts('exclude') },
        copier: body.text('copier') as Copier,
        replicationFactor: body.int('replicationFactor'),
        createdAt: body.int('createdAt'),
        deletedAt: body.int('deletedAt') || null,
      };
    case 'topic':
      return {
        kind,
        topic: body.text('topic'),
        mirror: body.text('mirror') || null,
        sourceTopicId: body.text('sourceTopicId'),
        destinationTopicId: body.text('destinationTopicId'),
        partitions: body.int('partitions'),
        desired: body.text('desired') as DesiredState,
        generation: body.int('generation'),
        sourceSettings: Object.fromEntries(
          body
            .list('sourceSettings')
            .map((setting) => [
              setting.text('name'),
              setting.flag('overridden') ? setting.text('value') : null,
            ]),
        ),
        configsPending: body.flag('configsPending'),
        error: body.text('error'),
        createdByUs: body.flag('createdByUs'),
        startedAt: body.int('startedAt'),
      };
    case 'partition':
      return partitionFromWire(body);
    case 'owner':
      return {
        kind,
        statePartition: body.int('statePartition'),
        instanceId: body.text('instanceId'),
        incarnation: body.int('incarnation'),
        released: body.flag('released'),
        ends: Object.fromEntries(body.list('ends').map((end) => [end.text('partition'), end.int('end')])),
        at: body.int('at'),
      };
    case 'command':
      return {
        kind,
        id: body.text('id'),
        verb: body.text('verb'),
        mirror: body.text('mirror'),
        topics: body.texts('topics'),
        all: body.flag('all'),
        options: body.text('options'),
        issuedAt: body.int('issuedAt'),
        deadline: body.int('deadline'),
        issuer: body.text('issuer'),
        begunAt: body.int('begunAt'),
      };
    case 'result':
      return {
        kind,
        id: body.text('id'),
        ok: body.flag('ok'),
        errorCode: body.int('errorCode'),
        errorMessage: body.text('errorMessage'),
        topics: body.list('topics').map((topic) => ({
          topic: topic.text('topic'),
          code: topic.int('code'),
          message: topic.text('message'),
        })),
        report: body.text('report'),
        finishedAt: body.int('finishedAt'),
      };
  }
}

function partitionFromWire(body: Fields): PartitionRecord {
  return {
    kind: 'partition',
    topic: body.text('topic'),
    partition: body.int('partition'),
    state: body.text('state') as PartitionState,
    previousState: body.text('previousState') as PartitionState,
    retryAttempt: body.int('retryAttempt'),
    errorMessage: body.text('errorMessage'),
    lastMirrored: { offset: body.int('lastMirroredOffset'), sourceEpoch: body.int('lastMirroredEpoch') },
    persistedEnd: body.int('persistedEnd'),
    epochs: body.list('epochs').map((start) => ({ epoch: start.int('epoch'), offset: start.int('offset') })),
    openIds: body.texts('openIds').map(BigInt),
    settledBy: body.text('settledBy'),
    unverified: body.list('unverified').map(rangeFromWire),
    sourceClusterId: body.text('sourceClusterId'),
    sourceTopicId: body.text('sourceTopicId'),
    sourceEnd: body.int('sourceEnd'),
    sourceEndAt: body.int('sourceEndAt'),
    stop: body.has('stop') ? stopFromWire(body.child('stop')) : null,
    report: body.has('report') ? reportFromWire(body.child('report')) : null,
    barriers: body.list('barriers').map((barrier) => ({
      offset: barrier.int('offset'),
      generation: barrier.int('generation'),
      sourceClusterId: barrier.text('sourceClusterId'),
    })),
  };
}

function stopFromWire(stop: Fields): StopProgress {
  return {
    step: stop.int('step'),
    barrierOffset: stop.int('barrierOffset'),
    generation: stop.int('generation'),
    barrierHash: BigInt(stop.text('barrierHash')),
    startedAt: stop.int('startedAt'),
    acceptDamage: stop.flag('acceptDamage'),
  };
}

function reportFromWire(report: Fields): StopReport {
  return {
    finishedAt: report.int('finishedAt'),
    lastMirrored: report.int('lastMirrored'),
    sourceEnd: report.int('sourceEnd'),
    sourceEndAt: report.int('sourceEndAt'),
    cutTransactions: report.texts('cutTransactions').map(BigInt),
    unverified: report.list('unverified').map(rangeFromWire),
    damage: report.list('damage').map(rangeFromWire),
  };
}

function rangeFromWire(fields: Fields): OffsetRange {
  return { from: fields.int('from'), to: fields.int('to'), why: fields.text('why') };
}

/** Typed look at a decoded object, whose 64-bit numbers came as decimal text. */
class Fields {
  readonly key: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(key: string, values: Readonly<Record<string, unknown>>) {
    this.key = key;
    this.#values = values;
  }

  has(name: string): boolean {
    const value = this.#values[name];
    return value !== undefined && value !== null;
  }

  text(name: string): string {
    return (this.#values[name] as string | undefined) ?? '';
  }

  texts(name: string): string[] {
    return (this.#values[name] as string[] | undefined) ?? [];
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  int(name: string): number {
    const value = Number(this.#values[name] ?? 0);
    if (!Number.isSafeInteger(value)) {
      throw new StateCodecError(`state record ${this.key} is damaged: ${name} is ${this.text(name)}`);
    }
    return value;
  }

  child(name: string): Fields {
    return new Fields(this.key, (this.#values[name] as Record<string, unknown> | undefined) ?? {});
  }

  list(name: string): Fields[] {
    const values = (this.#values[name] as Record<string, unknown>[] | undefined) ?? [];
    return values.map((value) => new Fields(this.key, value));
  }
}
