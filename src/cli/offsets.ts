import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { listOffsetsApi } from '../../protocol/schema/02-list-offsets.ts';
import type { Cluster } from '../net/cluster.ts';
import { failed } from './io.ts';

/** First offset and high watermark of a partition. */
export interface Bounds {
  readonly start: number;
  readonly end: number;
}

const TIMEOUT_MS = 10_000;
const ATTEMPTS = 5;

/** Reads log start and high watermark of partitions from their leaders. @throws CommandError naming the partition */
export async function boundsOf(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, Bounds>> {
  const [starts, ends] = await Promise.all([
    offsetsAt(cluster, topic, partitions, -2n),
    offsetsAt(cluster, topic, partitions, -1n),
  ]);
  return new Map(
    partitions.map((partition) => [
      partition,
      { start: starts.get(partition) ?? 0, end: ends.get(partition) ?? 0 },
    ]),
  );
}

async function offsetsAt(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  timestamp: bigint,
): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  for (let attempt = 1; found.size < partitions.length; attempt += 1) {
    const missing = partitions.filter((partition) => !found.has(partition));
    let why = 'no leader';
    for (const [nodeId, own] of Map.groupBy(
      missing,
      (partition) => cluster.leaderOf(topic, partition)?.nodeId ?? -1,
    )) {
      if (nodeId < 0) continue;
      const connection = await cluster.connection(nodeId, 'offsets');
      const body = {
        topics: [{ name: topic, partitions: own.map((partitionIndex) => ({ partitionIndex, timestamp })) }],
        timeoutMs: TIMEOUT_MS,
      };
      const answer = await connection.call(listOffsetsApi, body, { timeoutMs: TIMEOUT_MS });
      for (const { partitionIndex, errorCode, offset } of answer.topics[0]?.partitions ?? []) {
        if (errorCode === ErrorCode.NONE) found.set(partitionIndex, offset);
        else why = errorName(errorCode);
      }
    }
    if (found.size === partitions.length) break;
    if (attempt === ATTEMPTS) throw failed(`offsets of ${topic}-${missing[0]} on ${cluster.name}: ${why}`);
    await cluster.refresh([topic]);
  }
  return found;
}
