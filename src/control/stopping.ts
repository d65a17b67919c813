import { type Judgement, judge } from './stop-judgement.ts';
import { type KnownEnd, StopFailed, type StopWork, gone, progress, put, read, stepNow } from './stop-work.ts';
import type { DestinationPartition } from './ports.ts';
import { stateColumns, stateOf, stopped } from './states.ts';
import type { OffsetRange, PartitionRecord, StopReport } from './state/types.ts';
import { stillLost, withUnverified } from './partition-writes.ts';
import { epochOf } from './tail.ts';

export { type KnownEnd, StopFailed, type StopWork } from './stop-work.ts';

/**
 * STOPPING of one partition (DESIGN section 6): from any state to STOPPED behind a barrier, without the source.
 *
 * Each step is persisted when done, and the whole function may be called again after a crash or a failure at any
 * point: it goes on at the persisted step and ends in the same state with exactly one barrier.
 *
 *     1 end the append in progress, or probe     5 write the barrier, read it back
 *     2 cut to the LSO (nothing to do)           6 empty the producer entries
 *     3 read the end, judge the tail             7 STOPPED
 *     4 persist LMO, source epoch and ids
 */

/** @throws StopFailed, or whatever a request threw (retriable: the next call goes on at the persisted step) */
export async function runStop(work: StopWork): Promise<void> {
  if (read(work).state === 'STOPPED') return;
  if (work.log === null) return stopWithoutLog(work);
  if (stepNow(work) < 5) await untilBarrier(work, work.log);
  await work.onStep?.(6);
  work.emptyProducerEntries();
  if (stepNow(work) < 6) await put(work, 6, {});
  await work.onStep?.(7);
  await finish(work);
}

async function untilBarrier(work: StopWork, log: DestinationPartition): Promise<void> {
  await work.onStep?.(1);
  await knowTheEnd(work, log);
  await work.onStep?.(3);
  const judged = await judge(work, log);
  if (stepNow(work) < 3) await put(work, 3, {});
  await work.onStep?.(4);
  await persistLastMirrored(work, judged);
  await work.onStep?.(5);
  const stop = progress(read(work));
  const sourceClusterId = read(work).sourceClusterId;
  if (!judged.barrierStands) {
    await log.appendBarrier({ expectedOffset: judged.end, sourceClusterId, generation: stop.generation });
  }
  await work.onStep?.(5.5);
  await put(work, 5, {
    barriers: withBarrier(read(work), judged.end, stop.generation),
  });
}

/** Step 1. An exact end is persisted at once; a probed one only proves that nothing is on its way any more. */
async function knowTheEnd(work: StopWork, log: DestinationPartition): Promise<void> {
  const step = stepNow(work);
  const known = await work.endLink();
  const exact = known ?? (step === 0 ? released(work) : null);
  if (exact !== null && step === 0) {
    await put(work, 1, {
      persistedEnd: exact.end,
      openIds: exact.openIds,
      lastMirrored: lastMirrored(read(work), exact.end),
      unverified: stillLost(withUnverified(read(work).unverified, exact.unverified), exact.end),
      report: null,
    });
    return;
  }
  const { settledBy } = await log.settle();
  if (step === 0) await put(work, 1, { settledBy });
}

function released(work: StopWork): KnownEnd | null {
  const record = read(work);
  // What was mirrored after the last persisted end is not in openIds; only the scan of the tail tells.
  if (work.releasedEnd === null || work.releasedEnd !== record.persistedEnd) return null;
  return { end: work.releasedEnd, openIds: record.openIds, unverified: null };
}

/** Step 4: from here on a barrier of ours may stand at `barrierOffset`. */
async function persistLastMirrored(work: StopWork, judged: Judgement): Promise<void> {
  const record = read(work);
  // Of this stop, not of an earlier mirror: those have an end of their own.
  const before = record.report?.finishedAt === 0 ? record.report : null;
  await put(
    work,
    4,
    {
      persistedEnd: judged.end,
      lastMirrored: lastMirrored(record, judged.end),
      openIds: judged.openIds,
      report: report(
        record,
        { ...judged, unverified: joined(stillLost(record.unverified, judged.end), judged.unverified) },
        before,
        0,
      ),
    },
    { barrierOffset: judged.end },
  );
}

function lastMirrored(record: PartitionRecord, end: number): PartitionRecord['lastMirrored'] {
  return { offset: end - 1, sourceEpoch: end === 0 ? -1 : epochOf(record.epochs, end - 1) };
}

function report(
  record: PartitionRecord,
  judged: Pick<Judgement, 'end' | 'openIds' | 'unverified' | 'damage'>,
  before: StopReport | null,
  finishedAt: number,
): StopReport {
  return {
    finishedAt,
    lastMirrored: judged.end - 1,
    sourceEnd: record.sourceEnd,
    sourceEndAt: record.sourceEndAt,
    cutTransactions: judged.openIds,
    unverified: joined(before?.unverified, judged.unverified),
    damage: joined(before?.damage, judged.damage),
  };
}

function joined(before: readonly OffsetRange[] | undefined, now: readonly OffsetRange[]): OffsetRange[] {
  const all = [...(before ?? [])];
  for (const range of now) {
    if (!all.some(({ from, to }) => from === range.from && to === range.to)) all.push(range);
  }
  return all;
}

function withBarrier(
  record: PartitionRecord,
  offset: number,
  generation: number,
): PartitionRecord['barriers'] {
  const others = record.barriers.filter((barrier) => barrier.offset !== offset);
  return [...others, { offset, generation, sourceClusterId: record.sourceClusterId }].sort(
    (a, b) => a.offset - b.offset,
  );
}

/**
 * Step 7. The topic's record lives in another state partition than this one, so its settings become due before: a kill
 * between the two leaves nothing undone, and nobody gives settings back before all partitions are STOPPED.
 */
async function finish(work: StopWork): Promise<void> {
  const { topic, partition } = work.ref;
  await work.ledger.update((draft) => {
    const owner = draft.topic(topic);
    if (owner !== undefined && !owner.configsPending) draft.put({ ...owner, configsPending: true });
  });
  await work.ledger.update((draft) => {
    const record = draft.partition(topic, partition);
    if (record === undefined || record.state === 'STOPPED') return;
    const state = stateOf(record);
    if (state.name !== 'STOPPING') throw gone(work, record);
    draft.put({
      ...record,
      ...stateColumns(stopped(state)),
      stop: null,
      report: record.report === null ? null : { ...record.report, finishedAt: work.now() },
    });
  });
}

/** A topic that was never created, or is gone: STOPPED without a barrier, there is no log to part. */
async function stopWithoutLog(work: StopWork): Promise<void> {
  await work.endLink();
  const { topic, partition } = work.ref;
  const before = read(work);
  if (before.persistedEnd > 0 && !progress(before).acceptDamage) {
    throw new StopFailed(
      `${topic}-${partition}: the destination topic is gone, ${before.persistedEnd} offsets were mirrored into it. ` +
        `Stop again with --accept-damage to give the mirror up`,
      false,
    );
  }
  await work.ledger.update((draft) => {
    const record = draft.partition(topic, partition);
    if (record === undefined || record.state === 'STOPPED') return;
    const damage =
      record.persistedEnd > 0
        ? [{ from: 0, to: record.persistedEnd, why: 'the destination topic is gone' }]
        : [];
    draft.put({
      ...record,
      ...stateColumns({ name: 'STOPPED' }),
      stop: null,
      report: report(record, { end: 0, openIds: [], unverified: [], damage }, null, work.now()),
    });
  });
}
