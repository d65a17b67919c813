import type { PartitionRef } from '../link/ports.ts';
import type { DestinationPartition } from './ports.ts';
import { type StopWork, StopFailed, progress, read } from './stop-work.ts';
import type { OffsetRange } from './state/types.ts';
import { type TailScan, TailScanner } from './tail.ts';

/** The source has so long to answer when a tail is compared. */
const compareDeadlineMs = 5000;

/** What stands at the destination behind the persisted end, as a stop takes it (step 3 of STOPPING). */
export interface Judgement {
  readonly end: number;
  readonly barrierStands: boolean;
  readonly openIds: readonly bigint[];
  readonly unverified: readonly OffsetRange[];
  readonly damage: readonly OffsetRange[];
}

/** Step 3. */
export async function judge(work: StopWork, log: DestinationPartition): Promise<Judgement> {
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
