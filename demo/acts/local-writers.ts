import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { difference, endsOf, readAll } from '../readers.ts';
import { readPartitionLog } from '../../test/harness/log-files.ts';
import { lagNoMore, PARTITIONS, type Stage, TOPIC } from '../stage.ts';
import type { Story } from '../story.ts';
import { type Place, Writers } from '../writers.ts';
import type { Copy } from './mirror.ts';
import { logDir, type Truth } from './prove.ts';

export interface Behind {
  readonly truth: Truth;
  readonly copy: Copy;
  readonly scratch: string;
}

/** Act four: producers at west get, on purpose, ids that stand in mirrored batches, and nothing of theirs is lost. */
export async function writeLocally(
  stage: Stage,
  story: Story,
  { truth, copy, scratch }: Behind,
): Promise<void> {
  story.chapter('Writers move to west, through the gateway, with producer ids equal to those of the source');
  await lagNoMore(stage, copy.firstId);
  const writers = new Writers({
    version: '3.9.1',
    bootstrap: stage.gateway,
    counts: { plain: 0, idempotent: 8_000, transactional: 8_000 },
    transactionalId: 'west-writer',
    seed: 77,
    rate: 0,
    acks: true,
  });
  const totals = await writers.totals();
  story.figure('local', totals);
  story.say(`${totals.acked} records acknowledged, ${totals.abortedTransactions} transactions aborted`);

  const sourceIds = new Set<bigint>();
  const localIds = new Set<bigint>();
  let behindBarrier = true;
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const batch of readPartitionLog(logDir(stage.east.brokers), TOPIC, partition)) {
      if (batch.producerId >= 0n) sourceIds.add(batch.producerId);
    }
    for (const batch of readPartitionLog(logDir(stage.west.cluster.brokers), TOPIC, partition)) {
      if (batch.producerId < 0n) continue;
      localIds.add(batch.producerId);
      if (batch.base <= (truth.ends.get(partition) as number)) behindBarrier = false;
    }
  }
  const equal = [...localIds].filter((id) => sourceIds.has(id));
  story.check(
    "the local producers' ids equal ids of the source",
    localIds.size > 0 && equal.length === localIds.size,
    `${equal.length} of ${localIds.size}: ${[...localIds].sort((a, b) => Number(a - b)).join(', ')}`,
  );
  story.check('every local batch stands behind the barrier', behindBarrier, 'by the segment files of west');

  await proveNothingLost(stage, story, writers.places(), { truth, scratch });
  const mirrored = await readAll({
    version: '3.9.1',
    bootstrap: stage.west.cluster.bootstrap,
    topic: TOPIC,
    isolation: 'read_committed',
    to: truth.ends,
  });
  const wrong = difference(truth.seen, mirrored);
  story.check(
    'the mirrored part is unchanged',
    wrong === null,
    wrong ?? `ends at ${[...endsOf(mirrored).values()].join(', ')}`,
  );
}

/** Which offsets each reader sees behind the barrier, against the acknowledgements that the writers got. */
async function proveNothingLost(
  stage: Stage,
  story: Story,
  places: readonly Place[],
  { truth, scratch }: Pick<Behind, 'truth' | 'scratch'>,
): Promise<void> {
  const from = new Map([...truth.ends].map(([partition, end]) => [partition, end + 1]));
  const bootstraps = { 'through the gateway': stage.gateway, directly: stage.west.cluster.bootstrap };
  for (const isolation of ['read_committed', 'read_uncommitted'] as const) {
    const due = places.filter(({ committed }) => committed || isolation === 'read_uncommitted');
    const wanted = due.map(({ partition, offset }) => `${partition} ${offset}`).sort();
    for (const [where, bootstrap] of Object.entries(bootstraps)) {
      const dump = join(scratch, 'local.txt');
      await readAll({ version: '3.9.1', bootstrap, topic: TOPIC, isolation, from, dump });
      const lines = readFileSync(dump, 'utf8').trimEnd().split('\n');
      const read = lines.map((line) => line.split(' ', 2).join(' ')).sort();
      const missing = wanted.find((place, i) => read[i] !== place);
      story.check(
        `${isolation} ${where} gives every record acknowledged at west, each at its offset, and no other`,
        missing === undefined && read.length === wanted.length,
        missing === undefined
          ? `${read.length} read, ${wanted.length} acknowledged${isolation === 'read_committed' ? ' and committed' : ''}`
          : `partition and offset ${missing} is missing or another stands before it`,
      );
    }
  }
}
