import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { runJava } from '../test/harness/java.ts';
import type { KafkaVersion } from '../test/harness/kafka-home.ts';
import { flags } from '../test/harness/flags.ts';

/** What a stock Java consumer saw of one partition. The hash covers offset, time, key, value and headers of all. */
export interface Seen {
  readonly partition: number;
  readonly begin: number;
  readonly end: number;
  readonly records: number;
  readonly first: number;
  readonly last: number;
  readonly sha256: string;
}

export type Isolation = 'read_committed' | 'read_uncommitted';

export interface Reading {
  readonly version: KafkaVersion;
  readonly bootstrap: string;
  readonly topic: string;
  readonly isolation: Isolation;
  /** End offsets by partition, not included; what the broker gives for this isolation level when absent. */
  readonly to?: ReadonlyMap<number, number>;
  readonly from?: ReadonlyMap<number, number>;
  readonly dump?: string;
}

/** Reads a topic with the stock Java consumer of that release, partition by partition. */
export async function readAll(reading: Reading): Promise<Seen[]> {
  const list = (offsets: ReadonlyMap<number, number>) => [...offsets].map((pair) => pair.join(':')).join(',');
  const { version, bootstrap, topic, isolation, dump } = reading;
  const to = reading.to && list(reading.to);
  const from = reading.from && list(reading.from);
  const lines = await runJava(
    version,
    'ReadAll.java',
    flags({ bootstrap, topic, isolation, to, from, dump }),
  );
  return lines.map((line) => JSON.parse(line) as Seen).sort((a, b) => a.partition - b.partition);
}

export const endsOf = (seen: readonly Seen[]): Map<number, number> =>
  new Map(seen.map(({ partition, end }) => [partition, end]));

/** null when both saw the same of every partition, else a sentence that names the first difference. */
export function difference(truth: readonly Seen[], other: readonly Seen[]): string | null {
  for (const one of truth) {
    const twin = other.find(({ partition }) => partition === one.partition);
    if (twin === undefined) return `partition ${one.partition} was not read`;
    if (twin.records !== one.records) {
      return `partition ${one.partition}: ${twin.records} records instead of ${one.records}`;
    }
    if (twin.sha256 !== one.sha256)
      return `partition ${one.partition}: same number of records, other content`;
  }
  return truth.length === other.length ? null : `${other.length} partitions instead of ${truth.length}`;
}

/** The first line in which two dumps differ, for the message of a failed check. */
export async function firstDifference(left: string, right: string): Promise<string> {
  const [a, b] = [left, right].map((path) =>
    createInterface({ input: createReadStream(path) })[Symbol.asyncIterator](),
  );
  for (let line = 1; a !== undefined && b !== undefined; line++) {
    const [x, y] = [await a.next(), await b.next()];
    if (x.done === true && y.done === true) return 'no line differs';
    if (x.value !== y.value) return `line ${line}: ${short(x.value)} | ${short(y.value)}`;
  }
  return '';
}

function short(line: unknown): string {
  return typeof line === 'string' ? line.slice(0, 120) : '(end)';
}
