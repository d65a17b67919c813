import type { LinkProgress, PartitionRef } from '../link/ports.ts';
import { type StateView, type TopicRecord, partitionKey } from './state/types.ts';

/**
 * One row of `describe`: KIP-1279's columns first, in its order and names, ours behind. Offsets are -1 when they
 * are not known now; what was known once stands in the `last…` fields.
 */
export interface DescribeRow {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  /** Source high watermark, from a link that has seen it. */
  readonly sourceOffset: number;
  /** Destination log end as far as it is ours. */
  readonly destinationOffset: number;
  readonly lag: number;
  readonly state: string;
  /** -1 = failed for good. */
  readonly retryAttempt: number;
  /** Why it FAILED, or a passing error. */
  readonly errorMessage: string | null;

  /** A passing error alone: the state goes on. */
  readonly error: string | null;
  readonly phase: string | null;
  readonly source: string;
  readonly sourceClusterId: string;
  readonly desired: string;
  readonly generation: number;
  readonly configsPending: boolean;
  readonly sourceLastStableOffset: number;
  /** Offsets above the source's LSO: an open transaction holds them. */
  readonly held: number;
  readonly lastMirroredOffset: number;
  readonly lastMirroredSourceEpoch: number;
  readonly lastSourceEnd: number;
  readonly lastSourceEndAgeMs: number | null;
  readonly barrierOffset: number;
  readonly stopStep: number | null;
  /** Age of the append that is on its way, 0 for none. */
  readonly requestAgeMs: number;
  /** How the last unclear outcome was settled. */
  readonly settledBy: string;
  readonly counts: LinkProgress['counts'] | null;
  readonly openTransactions: readonly string[];
  /**
   * Principals that may write past the gateways, by the destination's ACLs; `anyone` without an authorizer, null when
   * it is not known or the topic is STOPPED and anybody's.
   */
  readonly directWriters: readonly string[] | null;
}

export interface Live {
  progress(mirror: string, ref: PartitionRef): LinkProgress | undefined;
  /** A mirror's own passing error (source unreachable …), or a topic's (partitions added at the source …). */
  trouble(mirror: string, topic: string): string | null;
  /** Why the state of a partition is out of reach, or null. */
  outage(topic: string, partition: number): string | null;
  writersOf(topic: string): readonly string[] | null;
  now(): number;
}

/** With an error and no answer for so long, the source's offsets are old. */
const sourceAwayMs = 5000;

/** Rows of the named mirrors (null = all), sorted by mirror, topic, partition. */
export function describeRows(view: StateView, live: Live, mirrors: readonly string[] | null): DescribeRow[] {
  const rows: DescribeRow[] = [];
  for (const topic of view.topics.values()) {
    if (topic.mirror === null) continue;
    if (mirrors !== null && !mirrors.includes(topic.mirror)) continue;
    for (let partition = 0; partition < topic.partitions; partition++) {
      rows.push(row(view, live, topic.mirror, topic.topic, partition));
    }
  }
  return rows.sort(
    (a, b) => order(a.mirror, b.mirror) || order(a.topic, b.topic) || a.partition - b.partition,
  );
}

function row(view: StateView, live: Live, mirror: string, topic: string, partition: number): DescribeRow {
  const topicRecord = view.topics.get(topic);
  const record = view.partitions.get(partitionKey(topic, partition));
  const progress = live.progress(mirror, { topic, partition });
  const state = record?.state ?? 'UNKNOWN';
  const stopped = state === 'STOPPED';
  // A link that knows is right, also when the end fell back behind what was persisted.
  const mirroredTo = progress?.destinationEnd ?? -1;
  const end = mirroredTo >= 0 ? mirroredTo : (record?.persistedEnd ?? -1);
  const destinationOffset = stopped || record === undefined ? -1 : end;
  const passing = stopped ? settingsTrouble(topicRecord) : (progress?.error ?? live.trouble(mirror, topic));
  const error = live.outage(topic, partition) ?? passing;
  const failure = record?.errorMessage ?? '';
  const seenAt = progress?.sourceSeenAt ?? (record?.sourceEndAt ? record.sourceEndAt : null);
  // An end that the source told before it went away says nothing of the lag now.
  const away = progress !== undefined && progress.error !== null;
  const isNow = !away || live.now() - (progress.sourceSeenAt ?? 0) < sourceAwayMs;
  const sourceOffset = isNow ? (progress?.sourceHighWatermark ?? -1) : -1;
  const lso = isNow ? (progress?.sourceLastStableOffset ?? -1) : -1;
  const lastMirrored = stopped ? (record?.lastMirrored.offset ?? -1) : end - 1;
  return {
    mirror,
    topic,
    partition,
    sourceOffset,
    destinationOffset,
    lag: sourceOffset < 0 || destinationOffset < 0 ? -1 : Math.max(0, sourceOffset - destinationOffset),
    state,
    retryAttempt: record?.retryAttempt ?? 0,
    errorMessage: failure === '' ? error : failure,
    error,
    phase: progress?.phase ?? null,
    source: view.mirrors.get(mirror)?.source ?? '',
    sourceClusterId: record?.sourceClusterId ?? '',
    desired: topicRecord?.desired ?? 'UNKNOWN',
    generation: topicRecord?.generation ?? 0,
    configsPending: topicRecord?.configsPending ?? false,
    sourceLastStableOffset: lso,
    held: sourceOffset < 0 || lso < 0 ? 0 : Math.max(0, sourceOffset - lso),
    lastMirroredOffset: lastMirrored,
    lastMirroredSourceEpoch: progress?.lastSourceEpoch ?? record?.lastMirrored.sourceEpoch ?? -1,
    lastSourceEnd: Math.max(progress?.sourceHighWatermark ?? -1, record?.sourceEnd ?? -1),
    lastSourceEndAgeMs: seenAt === null ? null : Math.max(0, live.now() - seenAt),
    barrierOffset: record?.barriers.at(-1)?.offset ?? -1,
    stopStep: record?.stop?.step ?? null,
    requestAgeMs: progress?.requestAgeMs ?? 0,
    settledBy: progress?.settledBy ?? record?.settledBy ?? '',
    counts: progress?.counts ?? null,
    openTransactions: (progress?.openIds ?? record?.openIds ?? []).map(String),
    directWriters: stopped ? null : live.writersOf(topic),
  };
}

function settingsTrouble(topic: TopicRecord | undefined): string | null {
  if (topic === undefined || !topic.configsPending || topic.error === '') return null;
  return `the topic's settings were not given back yet: ${topic.error}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
