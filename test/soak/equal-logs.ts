import { compareBatches, type BatchCounts } from '../harness/compare-batches.ts';
import { runJava } from '../harness/java.ts';
import type { KafkaCluster } from '../harness/kafka-cluster.ts';
import { readPartitionLog } from '../harness/log-files.ts';

export interface TwoLogs {
  readonly source: KafkaCluster;
  readonly destination: KafkaCluster;
  readonly topic: string;
  readonly partitions: number;
}

export interface BatchResult {
  readonly counts: BatchCounts;
  readonly faults: readonly string[];
  /** Offsets compared, all partitions together. */
  readonly offsets: number;
}

interface PartitionEnd {
  readonly partition: number;
  readonly begin: number;
  readonly end: number;
}

interface ReadPartition extends PartitionEnd {
  readonly records: number;
  readonly first: number;
  readonly last: number;
  readonly sha256: string;
}

/** End offsets by the stock Java client; with read_committed the last stable offsets. */
export async function endsOf(
  cluster: KafkaCluster,
  topic: string,
  isolation: 'read_committed' | 'read_uncommitted',
): Promise<PartitionEnd[]> {
  const args = ['offsets', '--bootstrap', cluster.bootstrap, '--topic', topic, '--isolation', isolation];
  const lines = await runJava(cluster.version, 'AdminTool.java', args);
  return lines.map((line) => JSON.parse(line) as PartitionEnd);
}

/**
 * Compares, batch for batch on disk, as much as the destination has now: to the last whole source batch below its end.
 * Both may be written to meanwhile.
 */
export function compareSoFar(logs: TwoLogs): BatchResult {
  return sum(logs, (partition) => {
    const [sourceDir, destinationDir] = logDirs(logs);
    const end = (readPartitionLog(destinationDir, logs.topic, partition).at(-1)?.last ?? -1) + 1;
    const whole = readPartitionLog(sourceDir, logs.topic, partition).findLast(({ last }) => last < end);
    return (whole?.last ?? -1) + 1;
  });
}

/** Compares the whole logs batch for batch, up to these ends. */
export function compareAll(logs: TwoLogs, ends: readonly PartitionEnd[]): BatchResult {
  return sum(logs, (partition) => ends.find((one) => one.partition === partition)?.end ?? 0);
}

/**
 * Reads the source as a read_committed consumer and the destination in both isolation levels, by the stock Java
 * client past every proxy, up to the same ends; gives what differs.
 */
export async function compareRecords(
  logs: TwoLogs,
  ends: readonly PartitionEnd[],
): Promise<{ records: number; faults: string[] }> {
  const to = ends.map(({ partition, end }) => `${partition}:${end}`).join(',');
  const read = async (cluster: KafkaCluster, isolation: string): Promise<ReadPartition[]> => {
    const args = [
      '--bootstrap',
      cluster.bootstrap,
      '--topic',
      logs.topic,
      '--isolation',
      isolation,
      '--to',
      to,
    ];
    const lines = await runJava(cluster.version, 'ReadAll.java', [...args, '--timeout-ms', '300000']);
    return lines.map((line) => JSON.parse(line) as ReadPartition);
  };
  const truth = await read(logs.source, 'read_committed');
  const faults: string[] = [];
  for (const isolation of ['read_committed', 'read_uncommitted']) {
    const copy = await read(logs.destination, isolation);
    for (const [i, expected] of truth.entries()) {
      const found = copy[i];
      for (const name of ['partition', 'records', 'first', 'last', 'sha256'] as const) {
        if (found?.[name] === expected[name]) continue;
        const where = `${logs.topic}-${expected.partition} as ${isolation}`;
        faults.push(
          `${where}: ${name} is ${found?.[name]}, the source's read_committed has ${expected[name]}`,
        );
      }
    }
  }
  return { records: truth.reduce((all, one) => all + one.records, 0), faults };
}

export function logDirs({ source, destination }: TwoLogs): [string, string] {
  return [source.brokers[0]?.logDir ?? '', destination.brokers[0]?.logDir ?? ''];
}

function sum(logs: TwoLogs, upToOf: (partition: number) => number): BatchResult {
  const counts: BatchCounts = { data: 0, dataBytes: 0, commits: 0, inertForAborted: 0, inertForAborts: 0 };
  const faults: string[] = [];
  let offsets = 0;
  const [sourceLogDir, destinationLogDir] = logDirs(logs);
  for (let partition = 0; partition < logs.partitions; partition++) {
    const upTo = upToOf(partition);
    offsets += upTo;
    const one = compareBatches({ sourceLogDir, destinationLogDir, topic: logs.topic, partition, upTo });
    for (const name of Object.keys(counts) as (keyof BatchCounts)[]) counts[name] += one.counts[name];
    faults.push(...one.faults);
  }
  return { counts, faults, offsets };
}
