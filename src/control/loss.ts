import type { LinkProgress } from '../link/ports.ts';
import type { OffsetRange, PartitionRecord } from './state/types.ts';

/** What a failover would lose now, as far as this side can know. */
export interface LossForecast {
  readonly topic: string;
  readonly partition: number;
  readonly state: string;
  /** Last mirrored offset, -1 for none. */
  readonly lastMirroredOffset: number;
  /** Last known source end, -1 when never seen. */
  readonly sourceEnd: number;
  readonly sourceEndAgeMs: number | null;
  /** Offsets below the last known source end that are not at the destination; null when the source was never seen. */
  readonly difference: number | null;
  readonly openTransactions: readonly string[];
}

export function forecastLoss(
  record: PartitionRecord,
  progress: LinkProgress | undefined,
  now: number,
): LossForecast {
  const mirroredTo = progress?.destinationEnd ?? -1;
  const end = mirroredTo >= 0 ? mirroredTo : record.persistedEnd;
  const sourceEnd = Math.max(record.sourceEnd, progress?.sourceHighWatermark ?? -1);
  const seenAt = progress?.sourceSeenAt ?? (record.sourceEndAt === 0 ? null : record.sourceEndAt);
  return {
    topic: record.topic,
    partition: record.partition,
    state: record.state,
    lastMirroredOffset: end - 1,
    sourceEnd,
    sourceEndAgeMs: seenAt === null ? null : Math.max(0, now - seenAt),
    difference: sourceEnd < 0 ? null : Math.max(0, sourceEnd - end),
    openTransactions: (progress?.openIds ?? record.openIds).map(String),
  };
}

/** What a stop lost, cut or could not check: the report of one partition (DESIGN promise 6). */
export interface LossReport {
  readonly topic: string;
  readonly partition: number;
  readonly state: string;
  readonly lastMirroredOffset: number;
  readonly lastMirroredSourceEpoch: number;
  readonly barrierOffset: number;
  readonly sourceEnd: number;
  /** Age of `sourceEnd` when the partition was STOPPED. */
  readonly sourceEndAgeMs: number | null;
  readonly difference: number | null;
  /** Mapped ids of transactions whose data stands here without their marker. */
  readonly cutTransactions: readonly string[];
  readonly unverified: readonly OffsetRange[];
  readonly damage: readonly OffsetRange[];
  readonly settledBy: string;
  readonly finishedAt: number;
}

/** null before step 4 of STOPPING. */
export function lossReport(record: PartitionRecord): LossReport | null {
  const { report } = record;
  if (report === null) return null;
  const end = report.lastMirrored + 1;
  const finished = report.finishedAt === 0 ? null : report.finishedAt;
  return {
    topic: record.topic,
    partition: record.partition,
    state: record.state,
    lastMirroredOffset: report.lastMirrored,
    lastMirroredSourceEpoch: record.lastMirrored.sourceEpoch,
    barrierOffset: record.barriers.find(({ offset }) => offset === end)?.offset ?? -1,
    sourceEnd: report.sourceEnd,
    sourceEndAgeMs:
      report.sourceEndAt === 0 || finished === null ? null : Math.max(0, finished - report.sourceEndAt),
    difference: report.sourceEnd < 0 ? null : Math.max(0, report.sourceEnd - end),
    cutTransactions: report.cutTransactions.map(String),
    unverified: report.unverified,
    damage: report.damage,
    settledBy: record.settledBy,
    finishedAt: report.finishedAt,
  };
}
