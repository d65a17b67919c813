import * as layout from '../../protocol/records/batch.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import { readPartitionLog, type StoredLogBatch } from './log-files.ts';

export interface BatchCounts {
  /** Data batches that equal the source's but for leader epoch, producer id and checksum. */
  data: number;
  dataBytes: number;
  /** COMMIT markers that agree in offset, mapped id, producer epoch and coordinator epoch. */
  commits: number;
  /** Inert markers that stand for offsets of aborted data. */
  inertForAborted: number;
  /** Inert markers that stand for ABORT markers. */
  inertForAborts: number;
}

export interface BatchComparison {
  readonly counts: BatchCounts;
  /** First faults, each naming the partition and the offset; empty when the logs are equal. */
  readonly faults: string[];
}

export interface PartitionFiles {
  readonly sourceLogDir: string;
  readonly destinationLogDir: string;
  readonly topic: string;
  readonly partition: number;
  /** Compared below this offset: the source's last stable offset. */
  readonly upTo: number;
}

/** Bytes 12-15 leader epoch, 17-20 checksum, 43-50 producer id: all that may differ in a stored data batch. */
const MAY_DIFFER: readonly (readonly [number, number])[] = [
  [12, 16],
  [17, 21],
  [43, 51],
];

/**
 * Compares what two brokers have on disk, batch for batch (DESIGN promises 1 to 3). The expectation is worked out
 * from the source's files alone, by a model of transactions that shares no code with the link.
 */
export function compareBatches(files: PartitionFiles): BatchComparison {
  const { topic, partition, upTo } = files;
  // the marker that decides a transaction may lie above the last stable offset, held down by another one
  const whole = readPartitionLog(files.sourceLogDir, topic, partition);
  const source = whole.filter((one) => one.base < upTo);
  const stored = readPartitionLog(files.destinationLogDir, topic, partition).filter((one) => one.base < upTo);
  const byBase = new Map(stored.map((one) => [one.base, one]));
  const counts: BatchCounts = { data: 0, dataBytes: 0, commits: 0, inertForAborted: 0, inertForAborts: 0 };
  const faults: string[] = [];
  const fault = (offset: number, what: string) => {
    if (faults.length < 10) faults.push(`${topic}-${partition} at offset ${offset}: ${what}`);
  };
  let used = 0;
  const inert = (from: number, to: number): number => {
    for (let offset = from; offset <= to; offset++) {
      const one = byBase.get(offset);
      if (one === undefined) fault(offset, 'nothing stands where an inert marker belongs');
      else if (!isInert(one, offset)) fault(offset, `an inert marker belongs here, found ${show(one)}`);
      used++;
    }
    return to - from + 1;
  };
  const aborted = abortedBatches(whole);
  for (const one of source) {
    if (one.isControl) {
      if (one.controlType === 1) {
        const problem = commitFault(one, byBase.get(one.base));
        if (problem !== null) fault(one.base, problem);
        counts.commits++;
        used++;
      } else counts.inertForAborts += inert(one.base, one.last);
    } else if (aborted.has(one)) counts.inertForAborted += inert(one.base, one.last);
    else {
      const problem = dataFault(one, byBase.get(one.base));
      if (problem !== null) fault(one.base, problem);
      counts.data++;
      counts.dataBytes += one.bytes.length;
      used++;
    }
  }
  if (used !== stored.length) fault(upTo, `${stored.length} batches stand below it, ${used} were expected`);
  return { counts, faults };
}

/** Which data batches an ABORT marker closed: in a log each id has at most one open transaction at a time. */
function abortedBatches(log: readonly StoredLogBatch[]): Set<StoredLogBatch> {
  const open = new Map<bigint, StoredLogBatch[]>();
  const aborted = new Set<StoredLogBatch>();
  for (const one of log) {
    if (!one.isTransactional) continue;
    if (!one.isControl) {
      const batches = open.get(one.producerId) ?? [];
      batches.push(one);
      open.set(one.producerId, batches);
    } else {
      if (one.controlType === 0) for (const each of open.get(one.producerId) ?? []) aborted.add(each);
      open.delete(one.producerId);
    }
  }
  return aborted;
}

const mapped = (id: bigint): bigint => (id < 0n ? id : -(id + 2n));

function dataFault(source: StoredLogBatch, stored: StoredLogBatch | undefined): string | null {
  if (stored === undefined) return 'the data batch of the source is missing';
  const { bytes } = stored;
  if (bytes.length !== source.bytes.length) {
    return `${bytes.length} bytes stand here, the source has ${source.bytes.length}`;
  }
  if (stored.producerId !== mapped(source.producerId)) {
    return `producer id ${stored.producerId} stands here, ${source.producerId} maps to ${mapped(source.producerId)}`;
  }
  let from = 0;
  for (const [start, end] of [...MAY_DIFFER, [bytes.length, bytes.length] as const]) {
    if (!bytes.subarray(from, start).equals(source.bytes.subarray(from, start))) {
      return `bytes between ${from} and ${start} of the batch differ from the source's`;
    }
    from = end;
  }
  const crc = crc32c(bytes, layout.ATTRIBUTES_AT, bytes.length);
  if (crc !== layout.storedCrc(bytes, 0))
    return `checksum ${layout.storedCrc(bytes, 0)} stored, ${crc} computed`;
  return null;
}

function commitFault(source: StoredLogBatch, stored: StoredLogBatch | undefined): string | null {
  if (stored === undefined) return 'the COMMIT marker of the source is missing';
  const agrees =
    stored.isControl &&
    stored.controlType === 1 &&
    stored.producerId === mapped(source.producerId) &&
    stored.producerEpoch === source.producerEpoch &&
    stored.coordinatorEpoch === source.coordinatorEpoch;
  return agrees ? null : `COMMIT of ${show(source)} belongs here, found ${show(stored)}`;
}

/** COMMIT with the filler id of its own offset, -(2^61) - offset (DESIGN 5.7). */
function isInert(one: StoredLogBatch, offset: number): boolean {
  return one.isControl && one.controlType === 1 && one.producerId === -(2n ** 61n) - BigInt(offset);
}

function show(one: StoredLogBatch): string {
  const kind = one.isControl
    ? `control type ${one.controlType}`
    : `data of ${one.last - one.base + 1} offsets`;
  return `${kind}, producer ${one.producerId} epoch ${one.producerEpoch}, coordinator epoch ${one.coordinatorEpoch}`;
}
