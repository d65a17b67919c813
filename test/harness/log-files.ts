import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as batch from '../../protocol/records/batch.ts';
import { walkBatches } from '../../protocol/records/walk.ts';

/** One batch as it lies in a broker's segment file. `bytes` is a view of the file's content. */
export interface StoredLogBatch {
  readonly base: number;
  readonly last: number;
  readonly bytes: Buffer;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly isControl: boolean;
  readonly isTransactional: boolean;
  /** Of a control batch: 0 ABORT, 1 COMMIT, others as read; null for data. */
  readonly controlType: number | null;
  readonly coordinatorEpoch: number | null;
}

/**
 * Reads a partition straight from the segment files of a broker, running or not: no client and no proxy stands
 * between the disk and the comparison. A batch that is being written at this moment ends the reading.
 */
export function readPartitionLog(logDir: string, topic: string, partition: number): StoredLogBatch[] {
  const dir = join(logDir, `${topic}-${partition}`);
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort();
  return files.flatMap((file) => readSegment(join(dir, file)));
}

function readSegment(path: string): StoredLogBatch[] {
  const bytes = readFileSync(path);
  const found: StoredLogBatch[] = [];
  const result = walkBatches(bytes, 0, bytes.length, (at, size) => {
    // A preallocated or torn tail reads as zeros: nothing behind it was written yet.
    found.push(view(bytes.subarray(at, at + size)));
  });
  if (result.bad !== undefined && bytes.readInt32BE(result.bad.at + batch.BATCH_LENGTH_AT) !== 0) {
    throw new Error(`${path}:${result.bad.at}: ${result.bad.reason}`);
  }
  return found;
}

function view(bytes: Buffer): StoredLogBatch {
  const isControl = batch.isControl(bytes, 0);
  return {
    base: batch.baseOffset(bytes, 0),
    last: batch.lastOffset(bytes, 0),
    bytes,
    producerId: batch.producerId(bytes, 0),
    producerEpoch: batch.producerEpoch(bytes, 0),
    isControl,
    isTransactional: batch.isTransactional(bytes, 0),
    ...(isControl ? controlRecord(bytes) : { controlType: null, coordinatorEpoch: null }),
  };
}

/**
 * Reads the one record of an uncompressed end-transaction marker by its fixed layout, apart from the product's own
 * parser: length, attributes, two deltas, key length (one byte each here), the key's version and type, then the
 * value's length, version and coordinator epoch.
 */
function controlRecord(bytes: Buffer): { controlType: number; coordinatorEpoch: number | null } {
  const key = batch.RECORDS_AT + 5;
  const controlType = bytes.readInt16BE(key + 2);
  const value = key + 5;
  const coordinatorEpoch =
    controlType <= 1 && bytes.length >= value + 6 ? bytes.readInt32BE(value + 2) : null;
  return { controlType, coordinatorEpoch };
}
