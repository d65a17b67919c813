import { difference, endsOf, readAll } from '../readers.ts';
import { readPartitionLog } from '../../test/harness/log-files.ts';
import { lagNoMore, PARTITIONS, type Stage, TOPIC } from '../stage.ts';
import type { Story } from '../story.ts';
import { Writers } from '../writers.ts';
import type { Copy } from './mirror.ts';
import { logDir, type Truth } from './prove.ts';

export interface Behind {
  readonly truth: Truth;
  readonly copy: Copy;
}

/** Act four: producers at west get, on purpose, ids that stand in mirrored batches, and nothing of theirs is lost. */
export async function writeLocally(stage: Stage, story: Story, { truth, copy }: Behind): Promise<void> {
  story.chapter('Writers move to west, through the gateway, with producer ids equal to those of the source');
  await lagNoMore(stage, copy.firstId);
  const writers = new Writers({
    version: '3.9.1',
    bootstrap: stage.gateway,
    counts: { plain: 0, idempotent: 8_000, transactional: 8_000 },
    transactionalId: 'west-writer',
    seed: 77,
    rate: 0,
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

  const from = new Map([...truth.ends].map(([partition, end]) => [partition, end + 1]));
  const local = await readAll({
    version: '3.9.1',
    bootstrap: stage.gateway,
    topic: TOPIC,
    isolation: 'read_committed',
    from,
  });
  const read = local.reduce((sum, one) => sum + one.records, 0);
  story.check(
    'every record that was acknowledged and committed at west is read back',
    read === totals.committed,
    `${read} read, ${totals.committed} committed, ${totals.aborted} aborted and not seen`,
  );
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
