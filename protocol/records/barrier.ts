import {
  baseOffset,
  isControl,
  lastOffsetDelta,
  magic,
  maxTimestamp,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  producerIdHi,
  recordCount,
  totalSize,
} from './batch.ts';
import { buildBatch } from './build.ts';
import {
  type ControlRecord,
  ControlType,
  buildControlKey,
  buildEndTransactionValue,
  buildMirrorPidResetValue,
  parseControlRecord,
} from './control.ts';
import { RecordsError } from './errors.ts';
import { barrierHash, barrierIdOfHash, hashOfBarrierId } from './ids.ts';
import { readRecords } from './records.ts';

/**
 * The barrier between mirrored and local records. A stock broker lets nobody write control type 7, so in the
 * log it is a COMMIT marker with an id of the barrier range and the generation as coordinator epoch; towards
 * readers it is shown as the MIRROR_PID_RESET that KIP-1279 describes. Both forms are read here.
 */
export interface Barrier {
  readonly offset: number;
  /** First 60 bits of SHA-256 of the source cluster id; 0 when that is not known. */
  readonly hash: bigint;
  /** How often the topic was mirrored; 0 for a type 7 written by someone else. */
  readonly generation: number;
  /** Undefined when only the hash is known. */
  readonly sourceClusterId: string | undefined;
  /** `marker`: as it stands in a stock log. `type-7`: as KIP-1279 or our gateway shows it. */
  readonly form: 'marker' | 'type-7';
}

/** Control batches are tiny; anything above this is not one worth opening. */
const MAX_CONTROL_BYTES = 64 * 1024;

/** Upper halves of the ids from -(2^62) - (2^60 - 1) to -(2^62): what a scan checks before it looks closer. */
const BARRIER_HI_TOP = -0x4000_0000;
const BARRIER_HI_BOTTOM = -0x5000_0000;

/**
 * Cheap test for the marker form: a control batch whose producer id lies in the barrier range. No bigint,
 * no allocation; may be asked of each batch of a response.
 */
export function isBarrierMarker(buf: Buffer, at: number): boolean {
  if (!isControl(buf, at) || magic(buf, at) !== 2) return false;
  const hi = producerIdHi(buf, at);
  if (hi > BARRIER_HI_TOP || hi < BARRIER_HI_BOTTOM) return false;
  return hashOfBarrierId(producerId(buf, at)) !== undefined;
}

/**
 * The one control record of the control batch at `at`.
 * @throws RecordsError when the batch is no readable control batch
 */
export function readControlRecord(
  buf: Buffer,
  at: number,
  options: { verifyCrc?: boolean } = {},
): ControlRecord {
  if (!isControl(buf, at)) throw new RecordsError('bad-record', 'the batch is no control batch', at);
  if (totalSize(buf, at) > MAX_CONTROL_BYTES) {
    throw new RecordsError('output-too-large', `control batch of ${totalSize(buf, at)} bytes`, at);
  }
  for (const record of readRecords(buf, at, { ...options, maxOutputBytes: MAX_CONTROL_BYTES })) {
    return parseControlRecord(record);
  }
  throw new RecordsError('bad-record', 'the control batch holds no record', at);
}

/**
 * The barrier at `at` in either form, or undefined for any other batch.
 * @param sourceClusterIds ids that a hash may be resolved to
 * @throws RecordsError when a control batch is damaged
 */
export function readBarrier(
  buf: Buffer,
  at: number,
  sourceClusterIds: readonly string[] = [],
  options: { verifyCrc?: boolean } = {},
): Barrier | undefined {
  if (!isControl(buf, at) || recordCount(buf, at) === 0) return undefined;
  return barrierOf(readControlRecord(buf, at, options), buf, at, sourceClusterIds);
}

/** As `readBarrier` for a control record that was read already. */
export function barrierOf(
  control: ControlRecord,
  buf: Buffer,
  at: number,
  sourceClusterIds: readonly string[] = [],
): Barrier | undefined {
  const hash = hashOfBarrierId(producerId(buf, at));
  const offset = baseOffset(buf, at);
  if (control.kind === 'end-transaction') {
    if (control.type !== 'COMMIT' || hash === undefined) return undefined;
    const sourceClusterId = resolveHash(hash, sourceClusterIds);
    return { offset, hash, generation: control.coordinatorEpoch, sourceClusterId, form: 'marker' };
  }
  if (control.kind !== 'mirror-pid-reset') return undefined;
  const named = control.sourceClusterId === '' ? undefined : control.sourceClusterId;
  const found = hash ?? barrierHash(named ?? '');
  return {
    offset,
    hash: found,
    // A foreign type 7 (id -1) has no generation that could be counted on.
    generation: hash === undefined ? 0 : (control.generation ?? 0),
    sourceClusterId: named ?? resolveHash(found, sourceClusterIds),
    form: 'type-7',
  };
}

/** The known cluster id with this barrier hash. */
export function resolveHash(hash: bigint, sourceClusterIds: readonly string[]): string | undefined {
  return sourceClusterIds.find((id) => barrierHash(id) === hash);
}

/** A control batch of one record as brokers write it: uncompressed, sequence -1. */
export interface ControlBatchInput {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly timestamp: bigint;
  readonly baseOffset?: number;
  readonly partitionLeaderEpoch?: number;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly transactional?: boolean;
}

export function buildControlBatch(input: ControlBatchInput): Buffer {
  const { key, value, timestamp, ...header } = input;
  return buildBatch({ ...header, control: true, records: [{ key, value, timestamp }] });
}

/** Whose control batch it is, when, and where it lies. */
interface ControlBatchPlace {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly timestamp: bigint;
  readonly baseOffset?: number;
  readonly partitionLeaderEpoch?: number;
}

/** A transaction marker as the log holds it after WriteTxnMarkers. */
export function buildMarkerBatch(
  input: ControlBatchPlace & { readonly type: 'ABORT' | 'COMMIT'; readonly coordinatorEpoch: number },
): Buffer {
  const { type, coordinatorEpoch, ...header } = input;
  return buildControlBatch({
    ...header,
    transactional: true,
    key: buildControlKey(ControlType[type]),
    value: buildEndTransactionValue(coordinatorEpoch),
  });
}

/** A MIRROR_PID_RESET batch: control, not transactional, one offset. */
export function buildMirrorPidResetBatch(
  input: ControlBatchPlace & {
    readonly sourceClusterId: string | undefined;
    readonly generation: number | undefined;
  },
): Buffer {
  const { sourceClusterId, generation, ...header } = input;
  return buildControlBatch({
    ...header,
    key: buildControlKey(ControlType.MIRROR_PID_RESET),
    value: buildMirrorPidResetValue({
      ...(sourceClusterId === undefined ? {} : { sourceClusterId }),
      ...(generation === undefined ? {} : { generation }),
    }),
  });
}

/**
 * The barrier marker at `at` as readers of the gateway get it: type 7 with the same offset, leader epoch,
 * time and id, its generation in the value; a hash that is not among the known ids shows as `""`.
 * Undefined when the batch is no barrier marker. Its size differs from the marker's.
 */
export function showBarrier(
  buf: Buffer,
  at: number,
  sourceClusterIds: readonly string[] = [],
  options: { verifyCrc?: boolean } = {},
): Buffer | undefined {
  if (!isBarrierMarker(buf, at) || lastOffsetDelta(buf, at) !== 0) return undefined;
  const barrier = readBarrier(buf, at, sourceClusterIds, options);
  if (barrier?.form !== 'marker') return undefined;
  return buildMirrorPidResetBatch({
    baseOffset: barrier.offset,
    partitionLeaderEpoch: partitionLeaderEpoch(buf, at),
    timestamp: maxTimestamp(buf, at),
    producerId: barrierIdOfHash(barrier.hash),
    producerEpoch: producerEpoch(buf, at),
    sourceClusterId: barrier.sourceClusterId ?? '',
    generation: barrier.generation,
  });
}
