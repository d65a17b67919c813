import { ErrorCode, errorName } from '../../protocol/errors.ts';
import {
  baseOffset,
  isControl,
  lastOffset,
  magic,
  RECORDS_AT,
  totalSize,
} from '../../protocol/records/batch.ts';
import { batchLine, controlLine, describeBatch, describeLegacy } from '../../protocol/records/describe.ts';
import { RecordsError } from '../../protocol/records/errors.ts';
import { readRecords } from '../../protocol/records/records.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { fetchApi } from '../../protocol/schema/01-fetch.ts';
import type { Cluster } from '../net/cluster.ts';
import type { LineSink } from './dump.ts';
import { failed } from './io.ts';
import { boundsOf } from './offsets.ts';

/** Says what a record of the state topic is; null when it is none of ours. */
export type DecodeState = (key: Buffer | null, value: Buffer | null) => Promise<StateEntry | null>;

export interface StateEntry {
  readonly key: string;
  /** null = tombstone. */
  readonly value: object | null;
}

export interface LiveDumpOptions {
  readonly topic: string;
  /** null = all. */
  readonly partition: number | null;
  /** null = the log start. */
  readonly from: number | null;
  /** Exclusive; null = the high watermark at the beginning. */
  readonly to: number | null;
  readonly format: 'text' | 'json';
  readonly sourceClusterIds: readonly string[];
  /** Decodes records of the state topic below each batch. */
  readonly decodeState: DecodeState | null;
}

const MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/**
 * `isthmus dump --bootstrap-server …`: the batches of live partitions as a consumer without isolation fetches them,
 * control batches included. Read through a gateway it shows what the gateway shows.
 * @returns faults found, `topic-partition offset N: reason`
 */
export async function dumpLive(
  cluster: Cluster,
  out: LineSink,
  options: LiveDumpOptions,
): Promise<{ readonly batches: number; readonly faults: readonly string[] }> {
  await cluster.refresh([options.topic]);
  const topic = cluster.topic(options.topic);
  if (topic === undefined || topic.errorCode !== ErrorCode.NONE) {
    throw failed(
      `topic ${options.topic}: ${errorName(topic?.errorCode ?? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}`,
    );
  }
  const all = topic.partitions.map(({ partition }) => partition);
  if (options.partition !== null && !all.includes(options.partition)) {
    throw failed(`topic ${options.topic} has partitions 0 to ${all.length - 1}, not ${options.partition}`);
  }
  const partitions = options.partition === null ? all : [options.partition];
  const bounds = await boundsOf(cluster, options.topic, partitions);
  const faults: string[] = [];
  let batches = 0;
  for (const partition of partitions) {
    const { start, end } = bounds.get(partition) ?? { start: 0, end: 0 };
    const from = Math.max(options.from ?? start, start);
    const to = Math.min(options.to ?? end, end);
    const name = `${options.topic}-${partition}`;
    if (options.format === 'text') await out.write(`${name}: log start ${start}, high watermark ${end}`);
    batches += await dumpPartition(cluster, name, topic.topicId, partition, from, to, out, options, faults);
  }
  return { batches, faults };
}

async function dumpPartition(
  cluster: Cluster,
  name: string,
  topicId: string,
  partition: number,
  from: number,
  to: number,
  out: LineSink,
  options: LiveDumpOptions,
  faults: string[],
): Promise<number> {
  let next = from;
  let batches = 0;
  let size = MAX_BYTES;
  while (next < to) {
    const records = await fetchAt(cluster, options.topic, topicId, partition, next, size);
    const views: number[] = [];
    const walked = walkBatches(records, 0, records.length, (at) => {
      views.push(at);
    });
    const before = next;
    for (const at of views) {
      if (lastOffset(records, at) < next && magic(records, at) === 2) continue;
      if (baseOffset(records, at) >= to) return batches;
      await writeBatch(records, at, name, out, options, faults);
      next = magic(records, at) === 2 ? lastOffset(records, at) + 1 : baseOffset(records, at) + 1;
      batches += 1;
    }
    if (next > before) continue;
    if (walked.partial && walked.needed > size && walked.needed <= 1 << 30) {
      size = walked.needed;
      continue;
    }
    // nothing came although the high watermark is further: holes of a compacted log up to its end
    if (records.length === 0) return batches;
    faults.push(`${name} offset ${next}: the answer has no whole batch`);
    return batches;
  }
  return batches;
}

async function fetchAt(
  cluster: Cluster,
  topic: string,
  topicId: string,
  partition: number,
  fetchOffset: number,
  partitionMaxBytes: number,
): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    const leader = cluster.leaderOf(topic, partition);
    if (leader === undefined) throw failed(`${topic}-${partition} has no leader now`);
    const connection = await cluster.connection(leader.nodeId, 'dump');
    const answer = await connection.call(
      fetchApi,
      {
        maxWaitMs: 200,
        minBytes: 1,
        maxBytes: partitionMaxBytes,
        topics: [{ topic, topicId, partitions: [{ partition, fetchOffset, partitionMaxBytes }] }],
        forgottenTopicsData: [],
      },
      { timeoutMs: TIMEOUT_MS },
    );
    const found = answer.responses[0]?.partitions[0];
    const errorCode =
      answer.errorCode !== 0 ? answer.errorCode : (found?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR);
    if (errorCode === ErrorCode.NONE) return found?.records ?? Buffer.alloc(0);
    if (attempt === 5) throw failed(`${topic}-${partition} offset ${fetchOffset}: ${errorName(errorCode)}`);
    await cluster.refresh([topic]);
  }
}

async function writeBatch(
  buf: Buffer,
  at: number,
  name: string,
  out: LineSink,
  options: LiveDumpOptions,
  faults: string[],
): Promise<void> {
  if (magic(buf, at) < 2) {
    const legacy = describeLegacy(buf, at);
    await out.write(
      options.format === 'json'
        ? JSON.stringify({ partition: name, ...legacy })
        : `offset ${legacy.offset}  size ${legacy.size}  magic ${legacy.magic}  ${legacy.codec}`,
    );
    return;
  }
  const batch = describeBatch(buf, at, { sourceClusterIds: options.sourceClusterIds });
  const where = `${name} offset ${batch.baseOffset}`;
  if (batch.crc !== 'valid') faults.push(`${where}: CRC is wrong`);
  if (batch.fault !== undefined) faults.push(`${where}: ${batch.fault}`);
  if (batch.control?.unreadable !== undefined) faults.push(`${where}: ${batch.control.unreadable}`);
  const entries = await stateEntries(buf, at, where, options.decodeState, faults);
  if (options.format === 'json') {
    await out.write(
      JSON.stringify({ partition: name, ...batch, ...(entries === null ? {} : { state: entries }) }),
    );
    return;
  }
  await out.write(batchLine(batch));
  if (batch.control !== undefined) await out.write(`  | ${controlLine(batch.control)}`);
  for (const { offset, key, value } of entries ?? []) {
    await out.write(`  | ${offset}  ${key} = ${value === null ? '(deleted)' : JSON.stringify(value)}`);
  }
}

async function stateEntries(
  buf: Buffer,
  at: number,
  where: string,
  decode: DecodeState | null,
  faults: string[],
): Promise<readonly (StateEntry & { readonly offset: number })[] | null> {
  if (decode === null || isControl(buf, at) || totalSize(buf, at) < RECORDS_AT) return null;
  const entries: (StateEntry & { readonly offset: number })[] = [];
  try {
    for (const record of readRecords(buf, at)) {
      const entry = await decode(record.key, record.value);
      if (entry === null) faults.push(`${where}: record ${record.offset} is no state record`);
      else entries.push({ offset: record.offset, ...entry });
    }
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error;
    faults.push(`${where}: ${error.message}`);
  }
  return entries;
}
