import {
  baseOffset,
  baseSequence,
  codecName,
  compressionOf,
  headerFault,
  isControl,
  isLogAppendTime,
  isTransactional,
  lastOffset,
  magic,
  maxTimestamp,
  baseTimestamp,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  recordCount,
  totalSize,
} from './batch.ts';
import { barrierOf, readControlRecord, resolveHash } from './barrier.ts';
import { RecordsError } from './errors.ts';
import { type IdClass, classifyId, fillerOffset, hashOfBarrierId, unmapProducerId } from './ids.ts';
import { type ControlRecord, controlTypeName } from './control.ts';
import { isCrcValid } from './records.ts';

/**
 * Batches in plain words, for `isthmus dump` and error reports. Values are JSON-ready: ids and times that
 * don't fit a number are decimal strings.
 */
export interface BatchDescription {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly count: number;
  readonly size: number;
  readonly magic: number;
  readonly codec: string;
  readonly crc: 'valid' | 'INVALID';
  readonly leaderEpoch: number;
  readonly producer: ProducerDescription;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly transactional: boolean;
  readonly timestampType: 'CreateTime' | 'LogAppendTime';
  /** ISO time, or the number where it is no date. */
  readonly baseTimestamp: string;
  readonly maxTimestamp: string;
  /** What the header claims that can't be. */
  readonly fault?: string;
  readonly control?: ControlDescription;
}

export interface ProducerDescription {
  readonly id: string;
  readonly class: IdClass;
  /** `mapped from 41`, `filler of offset 7`, `barrier h=0123…`; empty for local and none. */
  readonly meaning: string;
}

export interface ControlDescription {
  /** COMMIT, ABORT, MIRROR_PID_RESET …; a barrier marker is shown as the MIRROR_PID_RESET it stands for. */
  readonly type: string;
  readonly typeNumber: number | undefined;
  /** `inert` for a filler, `barrier` for a MIRROR_PID_RESET in either form. */
  readonly role?: 'inert' | 'barrier';
  readonly coordinatorEpoch?: number;
  readonly generation?: number;
  /** 15 hex digits. */
  readonly hash?: string;
  readonly sourceClusterId?: string;
  /** How the barrier stands in the log: as a marker with a barrier id, or as control type 7. */
  readonly storedAs?: 'marker' | 'type-7';
  readonly unreadable?: string;
}

export interface DescribeOptions {
  /** Cluster ids that a barrier's hash is looked up in. */
  readonly sourceClusterIds?: readonly string[];
  /** The answer of a CRC check made elsewhere (a batch read in pieces); default: checked here. */
  readonly crcValid?: boolean;
}

/**
 * Describes the batch at `at`. Never throws for what the batch says; the header must be in the buffer (61
 * bytes), and the whole batch too unless it is no control batch and `crcValid` is given.
 * For formats 0 and 1 use `describeLegacy`.
 */
export function describeBatch(buf: Buffer, at: number, options: DescribeOptions = {}): BatchDescription {
  const valid = options.crcValid ?? isCrcValid(buf, at);
  const fault = headerFault(buf, at);
  return {
    baseOffset: baseOffset(buf, at),
    lastOffset: lastOffset(buf, at),
    count: recordCount(buf, at),
    size: totalSize(buf, at),
    magic: magic(buf, at),
    codec: codecName(compressionOf(buf, at)),
    crc: valid ? 'valid' : 'INVALID',
    leaderEpoch: partitionLeaderEpoch(buf, at),
    producer: describeProducer(producerId(buf, at), options.sourceClusterIds),
    producerEpoch: producerEpoch(buf, at),
    baseSequence: baseSequence(buf, at),
    transactional: isTransactional(buf, at),
    timestampType: isLogAppendTime(buf, at) ? 'LogAppendTime' : 'CreateTime',
    baseTimestamp: describeTime(baseTimestamp(buf, at)),
    maxTimestamp: describeTime(maxTimestamp(buf, at)),
    ...(fault === undefined ? {} : { fault }),
    ...(isControl(buf, at) ? { control: describeControl(buf, at, options.sourceClusterIds) } : {}),
  };
}

/** A message of format 0 or 1 (a compressed one holds others, which are not opened). */
export function describeLegacy(
  buf: Buffer,
  at: number,
): { offset: number; size: number; magic: number; codec: string } {
  // Formats 0 and 1 have one byte of attributes behind the magic, the codec in its lowest bits.
  const codec = (buf[at + 17] as number) & 0x07;
  return {
    offset: baseOffset(buf, at),
    size: totalSize(buf, at),
    magic: magic(buf, at),
    codec: codecName(codec),
  };
}

export function describeProducer(id: bigint, sourceClusterIds: readonly string[] = []): ProducerDescription {
  const idClass = classifyId(id);
  return { id: id.toString(), class: idClass, meaning: meaningOf(id, idClass, sourceClusterIds) };
}

function meaningOf(id: bigint, idClass: IdClass, sourceClusterIds: readonly string[]): string {
  switch (idClass) {
    case 'mapped':
      return `mapped from ${unmapProducerId(id)}`;
    case 'filler':
      return `filler of offset ${fillerOffset(id)}`;
    case 'barrier': {
      const hash = hashOfBarrierId(id) ?? 0n;
      const known = resolveHash(hash, sourceClusterIds);
      return `barrier h=${hashText(hash)}${known === undefined ? '' : ` (${known})`}`;
    }
    case 'unassigned':
      return 'in no range of ours';
    default:
      return '';
  }
}

function describeControl(
  buf: Buffer,
  at: number,
  sourceClusterIds: readonly string[] = [],
): ControlDescription {
  // The cleaner may keep a marker's batch without its record, for the producer's last sequence.
  if (recordCount(buf, at) === 0) return { type: 'emptied', typeNumber: undefined };
  let control: ControlRecord;
  try {
    // The CRC is reported beside this; a wrong one must not hide what the record says.
    control = readControlRecord(buf, at, { verifyCrc: false });
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error;
    return { type: 'unreadable', typeNumber: undefined, unreadable: error.message };
  }
  const barrier = barrierOf(control, buf, at, sourceClusterIds);
  if (barrier !== undefined) {
    return {
      type: 'MIRROR_PID_RESET',
      typeNumber: 7,
      role: 'barrier',
      ...(control.kind === 'end-transaction' ? { coordinatorEpoch: control.coordinatorEpoch } : {}),
      generation: barrier.generation,
      hash: hashText(barrier.hash),
      ...(barrier.sourceClusterId === undefined ? {} : { sourceClusterId: barrier.sourceClusterId }),
      storedAs: barrier.form,
    };
  }
  return describePlainControl(control, classifyId(producerId(buf, at)));
}

function describePlainControl(control: ControlRecord, idClass: IdClass): ControlDescription {
  switch (control.kind) {
    case 'end-transaction': {
      const typeNumber = control.type === 'COMMIT' ? 1 : 0;
      const role = idClass === 'filler' ? { role: 'inert' as const } : {};
      return { type: control.type, typeNumber, ...role, coordinatorEpoch: control.coordinatorEpoch };
    }
    case 'leader-change':
      return { type: 'LEADER_CHANGE', typeNumber: 2 };
    case 'kraft-version':
      return { type: 'KRAFT_VERSION', typeNumber: 5 };
    case 'mirror-pid-reset':
      return { type: 'MIRROR_PID_RESET', typeNumber: 7, role: 'barrier' };
    case 'other':
      return { type: control.type, typeNumber: control.typeNumber };
    case 'unreadable': {
      const type = control.typeNumber === undefined ? 'unreadable' : controlTypeName(control.typeNumber);
      return { type, typeNumber: control.typeNumber, unreadable: control.reason };
    }
  }
}

/** One line of text for a batch, fields in a fixed order, what is not worth saying left out. */
export function batchLine(batch: BatchDescription): string {
  const { producer } = batch;
  const words = [
    `offsets ${batch.baseOffset}..${batch.lastOffset}`,
    `count ${batch.count}`,
    `size ${batch.size}`,
    batch.codec,
    `pid ${producer.id}${producer.meaning === '' ? '' : ` (${producer.meaning})`}`,
    `epoch ${batch.producerEpoch}`,
    `seq ${batch.baseSequence}`,
    `leaderEpoch ${batch.leaderEpoch}`,
    ...(batch.transactional ? ['txn'] : []),
    ...(batch.control === undefined ? [] : ['control']),
    `${batch.timestampType} ${batch.baseTimestamp}..${batch.maxTimestamp}`,
    `crc ${batch.crc}`,
    ...(batch.fault === undefined ? [] : [`FAULT ${batch.fault}`]),
  ];
  return words.join('  ');
}

/** The line under a control batch. */
export function controlLine(control: ControlDescription): string {
  const words = [
    control.typeNumber === undefined ? control.type : `${control.type} (type ${control.typeNumber})`,
    ...(control.role === 'inert' ? ['inert'] : []),
    ...(control.generation === undefined ? [] : [`generation ${control.generation}`]),
    ...(control.hash === undefined ? [] : [`h=${control.hash}`]),
    ...(control.role === 'barrier' ? [`SourceClusterId "${control.sourceClusterId ?? ''}"`] : []),
    ...(control.storedAs === 'marker' ? ['stored as a COMMIT marker'] : []),
    ...(control.coordinatorEpoch === undefined ? [] : [`coordinatorEpoch ${control.coordinatorEpoch}`]),
    ...(control.unreadable === undefined ? [] : [`UNREADABLE ${control.unreadable}`]),
  ];
  return words.join('  ');
}

/** A 60-bit hash as 15 hex digits. */
export function hashText(hash: bigint): string {
  return hash.toString(16).padStart(15, '0');
}

const LAST_DATE = 8_640_000_000_000_000n;

function describeTime(time: bigint): string {
  if (time < 0n || time > LAST_DATE) return time.toString();
  return new Date(Number(time)).toISOString();
}
