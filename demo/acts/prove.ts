import { join } from 'node:path';
import { type BatchCounts, compareBatches } from '../../test/harness/compare-batches.ts';
import { dumpLogSegments } from '../../test/harness/dump-log.ts';
import { readdirSync } from 'node:fs';
import { PATIENTLY } from '../patience.ts';
import { until } from '../../test/harness/until.ts';
import { describeMirror } from '../describe.ts';
import { difference, endsOf, firstDifference, type Isolation, readAll, type Seen } from '../readers.ts';
import { PARTITIONS, type Stage, TOPIC } from '../stage.ts';
import type { Story } from '../story.ts';
import type { Copy } from './mirror.ts';

export interface Truth {
  /** What a read_committed Java consumer saw at the source, up to its last stable offset. */
  readonly seen: readonly Seen[];
  /** Last stable offsets of the source by partition. */
  readonly ends: ReadonlyMap<number, number>;
}

/** Act two: the copy equals the source, by stock readers in both isolation levels and by the bytes on disk. */
export async function proveCopy(stage: Stage, story: Story, copy: Copy, scratch: string): Promise<Truth> {
  const { east, west, gateway } = stage;
  story.chapter('The truth: what a read_committed Java consumer sees at east');
  const dump = join(scratch, 'east.txt');
  const seen = await readAll({
    version: '4.4.0',
    bootstrap: east.bootstrap,
    topic: TOPIC,
    isolation: 'read_committed',
    dump,
  });
  const ends = endsOf(seen);
  const records = seen.reduce((sum, one) => sum + one.records, 0);
  story.say(`${records} records below the last stable offsets ${[...ends.values()].join(', ')}`);
  await until(
    'the copy has reached the last stable offset of every partition',
    async () =>
      (await describeMirror(gateway)).every((row) => row.destinationOffset === ends.get(row.partition)),
    PATIENTLY,
  );
  const rows = await describeMirror(gateway);
  const held = rows.find(({ sourceOffset, destinationOffset }) => sourceOffset > destinationOffset);
  story.check(
    'what the open transaction wrote is held back at the last stable offset',
    held !== undefined &&
      rows.every(({ partition, destinationOffset }) => destinationOffset === ends.get(partition)),
    held === undefined
      ? 'nothing is held'
      : `partition ${held.partition}: source ${held.sourceOffset}, destination ${held.destinationOffset}`,
  );
  copy.open.stdin.write('send 5\n');
  await copy.open.line(/^SENT/);

  story.chapter('The copy at west, read by stock Java consumers');
  for (const [where, bootstrap] of [
    ['directly', west.cluster.bootstrap],
    ['through the gateway', gateway],
  ] as const) {
    for (const isolation of ['read_committed', 'read_uncommitted'] satisfies Isolation[]) {
      const file = join(scratch, `west-${isolation}.txt`);
      const there = await readAll({
        version: '3.9.1',
        bootstrap,
        topic: TOPIC,
        isolation,
        to: ends,
        dump: file,
      });
      const wrong = difference(seen, there);
      story.check(
        `${isolation} ${where} equals the truth by partition, offset, timestamp, key, value and headers`,
        wrong === null,
        wrong === null ? `${records} records` : `${wrong}; ${await firstDifference(dump, file)}`,
      );
    }
  }
  proveBytes(stage, story, ends);
  await proveIds(stage, story);
  return { seen, ends };
}

function proveBytes(stage: Stage, story: Story, ends: ReadonlyMap<number, number>): void {
  story.chapter('The segment files of both brokers, batch for batch');
  const sum: BatchCounts = { data: 0, dataBytes: 0, commits: 0, inertForAborted: 0, inertForAborts: 0 };
  const faults: string[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const result = compareBatches({
      sourceLogDir: logDir(stage.east.brokers),
      destinationLogDir: logDir(stage.west.cluster.brokers),
      topic: TOPIC,
      partition,
      upTo: ends.get(partition) as number,
    });
    faults.push(...result.faults);
    for (const name of Object.keys(sum) as (keyof BatchCounts)[]) sum[name] += result.counts[name];
  }
  story.figure('batches', sum);
  story.check(
    'data batches are the same bytes but for leader epoch, producer id and checksum',
    faults.length === 0 && sum.data > 0,
    faults[0] ?? `${sum.data} data batches, ${(sum.dataBytes / 1e6).toFixed(1)} MB`,
  );
  story.check(
    'each COMMIT marker has its twin, each offset of an aborted transaction an inert marker',
    faults.length === 0 && sum.commits > 0 && sum.inertForAborted > 0 && sum.inertForAborts > 0,
    `${sum.commits} COMMIT, ${sum.inertForAborted} inert for aborted records, ${sum.inertForAborts} for ABORT markers`,
  );
}

/** Kafka's own tool reads the copy's segment and shows ids below -1 on data and markers. */
async function proveIds(stage: Stage, story: Story): Promise<void> {
  const dir = join(logDir(stage.west.cluster.brokers), `${TOPIC}-0`);
  const files = readdirSync(dir).filter((name) => name.endsWith('.log'));
  const lines = await dumpLogSegments(
    '3.9.1',
    files.map((name) => join(dir, name)),
    { records: false },
  );
  const batches = lines.filter((line) => line.startsWith('baseOffset:'));
  const mapped = batches.filter((line) => Number(/producerId: (-?\d+)/.exec(line)?.[1]) <= -2);
  const local = batches.filter((line) => Number(/producerId: (-?\d+)/.exec(line)?.[1]) >= 0);
  const invalid = batches.filter((line) => !line.includes('isvalid: true'));
  story.check(
    "stock DumpLogSegments shows mapped ids, -(id+2), and no batch with an id of the source's own",
    mapped.length > 0 && local.length === 0 && invalid.length === 0,
    `${batches.length} batches of partition 0, ${mapped.length} with mapped ids, ${invalid.length} invalid`,
  );
  story.show(
    mapped.slice(0, 3).map((line) => line.slice(0, 170)),
    3,
  );
}

export const logDir = (brokers: readonly { readonly logDir: string }[]): string => brokers[0]?.logDir ?? '';
