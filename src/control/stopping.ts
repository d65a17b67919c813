import type { PartitionRef } from '../link/ports.ts';
import type { Ledger } from './ledger.ts';
import type { CompareTail, DestinationPartition } from './ports.ts';
import { type StopStep, type Stopping, stateColumns, stateOf, stepDone, stopped } from './states.ts';
import type { OffsetRange, PartitionRecord, StopProgress, StopReport } from './state/types.ts';
import { stillLost, withUnverified } from './partition-writes.ts';
import { type TailScan, TailScanner, epochOf } from './tail.ts';

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
export interface StopWork {
  readonly mirror: string;
  readonly ref: PartitionRef;
  readonly ledger: Ledger;
  /** null when the destination topic does not exist: there is nothing to write a barrier into. */
  readonly log: DestinationPartition | null;
  /**
   * Stops the fetcher and ends the append in progress.
   * @returns the exact end, or null when no link of this process holds the partition or it never knew its end
   * @throws when the append stays silent (the message names the broker)
   */
  endLink(): Promise<KnownEnd | null>;
  /** Exact end that a clean stop of the last process wrote down, or null. */
  readonly releasedEnd: number | null;
  /** null when the source does not answer. */
  compareTail(): Promise<CompareTail | null>;
  /** Step 6: forgets the producer entries of an externally copied partition. */
  emptyProducerEntries(): void;
  now(): number;
  /** Awaited before each step; tests crash here. */
  onStep?(step: number): Promise<void> | void;
}

/** What a link knew when it let go of a partition. */
export interface KnownEnd {
  readonly end: number;
  readonly openIds: readonly bigint[];
  /** Tail of an older owner that the source no longer held when this one compared it. */
  readonly unverified: Pick<OffsetRange, 'from' | 'to'> | null;
}

/** Why a stop can't go on. */
export class StopFailed extends Error {
  override readonly name = 'StopFailed';
  readonly retriable: boolean;

  constructor(message: string, retriable: boolean) {
    super(message);
    this.retriable = retriable;
  }
}

/** The source has so long to answer when a tail is compared. */
const compareDeadlineMs = 5000;

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

interface Judgement {
  readonly end: number;
  readonly barrierStands: boolean;
  readonly openIds: readonly bigint[];
  readonly unverified: readonly OffsetRange[];
  readonly damage: readonly OffsetRange[];
}

/** Step 3. */
async function judge(work: StopWork, log: DestinationPartition): Promise<Judgement> {
  const record = read(work);
  const stop = progress(record);
  const from = record.persistedEnd;
  const { end } = await log.readEnd();
  if (end < from) return damaged(work, { end, openIds: record.openIds }, lost(work.ref, end, from));

  const scanner = new TailScanner(
    { sourceClusterId: record.sourceClusterId, generation: stop.generation },
    record.openIds,
  );
  if (end > from) await log.readBatches(from, end, scanner.visit);
  const scan = scanner.result();

  const barrierAt = stop.step >= 4 ? scan.barrierAt : null;
  if (barrierAt === null) return judgeTail(work, scan, from, end, false);
  if (scan.behindBarrier !== null) {
    const range = {
      from: scan.behindBarrier,
      to: end,
      why: `written behind the barrier at offset ${barrierAt}`,
    };
    return damaged(work, { end, openIds: scan.openIds }, range);
  }
  return judgeTail(work, scan, from, barrierAt, true);
}

async function judgeTail(
  work: StopWork,
  scan: TailScan,
  from: number,
  to: number,
  barrierStands: boolean,
): Promise<Judgement> {
  const plain = { end: to, barrierStands, openIds: scan.openIds, unverified: [], damage: [] };
  if (to === from) return plain;
  const compare = await work.compareTail();
  const verdict =
    compare === null
      ? { kind: 'unverified' as const, from, to, why: 'the source did not answer' }
      : await compare(work.ref, from, to, compareDeadlineMs);
  if (verdict.kind === 'equal') return plain;
  if (verdict.kind === 'differs') {
    const range = { from: verdict.offset, to, why: verdict.message };
    return damaged(work, { end: to, openIds: scan.openIds, barrierStands }, range);
  }
  if (scan.foreign !== null) {
    const { offset, producerId } = scan.foreign;
    const range = { from: offset, to, why: `a foreign writer's batch (producer id ${producerId})` };
    return damaged(work, { end: to, openIds: scan.openIds, barrierStands }, range);
  }
  return { ...plain, unverified: [{ from: verdict.from, to: verdict.to, why: verdict.why }] };
}

function lost(ref: PartitionRef, end: number, from: number): OffsetRange {
  return {
    from: end,
    to: from,
    why: `${ref.topic}-${ref.partition} ends at ${end}, but ${from} was persisted: the destination lost its tail`,
  };
}

/** The real end with the damage listed, when `--accept-damage` was given. */
function damaged(
  work: StopWork,
  found: { end: number; openIds: readonly bigint[]; barrierStands?: boolean },
  range: OffsetRange,
): Judgement {
  const { ref } = work;
  if (!progress(read(work)).acceptDamage) {
    throw new StopFailed(
      `${ref.topic}-${ref.partition}: offsets ${range.from} to ${range.to - 1} are damaged: ${range.why}. ` +
        `Stop again with --accept-damage to keep the log as it is, the range listed in the report`,
      false,
    );
  }
  return {
    end: found.end,
    barrierStands: found.barrierStands ?? false,
    openIds: found.openIds,
    unverified: [],
    damage: [range],
  };
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

function read(work: StopWork): PartitionRecord {
  const { topic, partition } = work.ref;
  const record = work.ledger.view.partitions.get(`${topic}/${partition}`);
  if (record === undefined) throw new StopFailed(`nothing is recorded of ${topic}-${partition}`, false);
  return record;
}

function stepNow(work: StopWork): number {
  return progress(read(work)).step;
}

function progress(record: PartitionRecord): StopProgress {
  if (record.stop === null) {
    throw new StopFailed(
      `${record.topic}-${record.partition} is ${record.state}, nobody asked it to stop`,
      false,
    );
  }
  return record.stop;
}

async function put(
  work: StopWork,
  step: StopStep,
  columns: Partial<PartitionRecord>,
  stopColumns: Partial<StopProgress> = {},
): Promise<void> {
  const { topic, partition } = work.ref;
  await work.ledger.update((draft) => {
    const record = draft.partition(topic, partition);
    if (record === undefined) return;
    const state = stateOf(record);
    if (state.name !== 'STOPPING') throw gone(work, record);
    const next: Stopping = stepDone(state, step);
    draft.put({
      ...record,
      ...columns,
      ...stateColumns(next),
      stop: { ...progress(record), ...stopColumns, step },
    });
  });
}

function gone(work: StopWork, record: PartitionRecord): StopFailed {
  return new StopFailed(
    `${work.ref.topic}-${work.ref.partition} became ${record.state} while it was stopped`,
    true,
  );
}
