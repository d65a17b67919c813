import type { EpochStart, LinkProgress, OffsetSpan, PartitionRef } from '../link/ports.ts';
import { partitionStateChanged } from '../observe/channels.ts';
import type { Draft, Ledger } from './ledger.ts';
import { type PartitionState, fail, mirror, stateColumns, stateOf } from './states.ts';
import { type OffsetRange, type PartitionRecord, StateAway } from './state/types.ts';
import { epochOf } from './tail.ts';

/** The changes of a partition's record that a running mirror makes, each judged against the record as it is then. */
export class PartitionWrites {
  readonly #ledger: Ledger;
  readonly #mirror: string;

  constructor(ledger: Ledger, mirrorName: string) {
    this.#ledger = ledger;
    this.#mirror = mirrorName;
  }

  /** Before the first append of a source epoch (DESIGN 5.1). */
  async epochBegins(ref: PartitionRef, start: EpochStart): Promise<void> {
    await this.#ledger.update((draft) => {
      const record = draft.partition(ref.topic, ref.partition);
      if (record === undefined) throw new Error(`nothing is recorded of ${ref.topic}-${ref.partition}`);
      if (record.epochs.some(({ epoch }) => epoch === start.epoch)) return;
      // An older run may have noted an epoch whose batches never came; later starts replace it.
      const kept = record.epochs.filter(({ epoch, offset }) => epoch < start.epoch && offset <= start.offset);
      draft.put({ ...record, epochs: [...kept, { epoch: start.epoch, offset: start.offset }] });
    });
  }

  /** The destination lost its tail: before anything is appended there again. */
  async rewound(ref: PartitionRef, lost: OffsetSpan, openIds: readonly bigint[]): Promise<void> {
    await this.#ledger.update((draft) => {
      const record = draft.partition(ref.topic, ref.partition);
      if (record === undefined) throw new Error(`nothing is recorded of ${ref.topic}-${ref.partition}`);
      const state = stateOf(record).name;
      // Of any other the end is the stop's, or another start's.
      if (state !== 'LOG_ALIGNMENT' && state !== 'MIRRORING') return;
      const end = Math.min(record.persistedEnd, lost.from);
      draft.put({
        ...record,
        persistedEnd: end,
        lastMirrored: { offset: end - 1, sourceEpoch: end === 0 ? -1 : epochOf(record.epochs, end - 1) },
        openIds,
        unverified: withLost(record.unverified, lost),
      });
    });
  }

  /** What moved since the last call. What lives in a state partition out of reach is left for later. */
  async progressed(reports: readonly { ref: PartitionRef; progress: LinkProgress }[]): Promise<void> {
    if (reports.length === 0) return;
    const written = await Promise.allSettled(
      reports.map(({ ref, progress }) =>
        this.#ledger.updateSoon((draft) => this.#progressed(draft, ref, progress)),
      ),
    );
    for (const one of written) {
      if (one.status === 'fulfilled') for (const change of one.value) partitionStateChanged.publish(change);
    }
    const failed = written.find((one) => one.status === 'rejected' && !(one.reason instanceof StateAway));
    if (failed?.status === 'rejected') throw failed.reason;
  }

  #progressed(draft: Draft, ref: PartitionRef, progress: LinkProgress): StateChanged[] {
    const record = draft.partition(ref.topic, ref.partition);
    if (record === undefined) return [];
    const state = stateOf(record);
    if (state.name !== 'LOG_ALIGNMENT' && state.name !== 'MIRRORING') return [];
    if (progress.phase !== 'mirroring') return [];
    const next = mirror(state);
    draft.put({ ...record, ...stateColumns(next), ...progressColumns(record, progress) });
    return next.name === state.name ? [] : [this.#changed(ref, state, next)];
  }

  /** Mirroring failed. A partition that is being stopped goes on: the stop judges what stands there by itself. */
  failed(
    ref: PartitionRef,
    message: string,
    retriable: boolean,
    attempts: number,
  ): Promise<PartitionState | null> {
    return this.#failed(ref, message, retriable, attempts, ['STOPPING', 'STOPPED']);
  }

  /** Stopping failed. */
  stopFailed(
    ref: PartitionRef,
    message: string,
    retriable: boolean,
    attempts: number,
  ): Promise<PartitionState | null> {
    return this.#failed(ref, message, retriable, attempts, ['STOPPED']);
  }

  /** @returns the state it ended in; null for one in a state that is kept */
  async #failed(
    ref: PartitionRef,
    message: string,
    retriable: boolean,
    attempts: number,
    kept: readonly PartitionState['name'][],
  ): Promise<PartitionState | null> {
    const change = await this.#ledger.updateSoon((draft) => {
      const record = draft.partition(ref.topic, ref.partition);
      if (record === undefined) return null;
      const state = stateOf(record);
      if (state.name === 'STOPPED' || kept.includes(state.name)) return null;
      const next = fail(state, message, retriable, attempts);
      draft.put({ ...record, ...stateColumns(next) });
      return { state, next };
    });
    if (change === null) return null;
    partitionStateChanged.publish(this.#changed(ref, change.state, change.next, message));
    return change.next;
  }

  /** A retry: from FAILED back to where it came from. false when it is not FAILED (any more). */
  async retried(ref: PartitionRef): Promise<boolean> {
    const change = await this.#ledger.updateSoon((draft) => {
      const record = draft.partition(ref.topic, ref.partition);
      if (record === undefined) return null;
      const state = stateOf(record);
      if (state.name !== 'FAILED' || state.retryAttempt < 0) return null;
      const next = state.from.name === 'UNKNOWN' ? ({ name: 'LOG_ALIGNMENT' } as const) : state.from;
      draft.put({ ...record, ...stateColumns(next) });
      return { state, next };
    });
    if (change !== null) partitionStateChanged.publish(this.#changed(ref, change.state, change.next));
    return change !== null;
  }

  #changed(
    ref: PartitionRef,
    from: PartitionState,
    to: PartitionState,
    error: string | null = null,
  ): StateChanged {
    return { mirror: this.#mirror, ...ref, from: from.name, to: to.name, error };
  }
}

type StateChanged = Parameters<typeof partitionStateChanged.publish>[0];

export function progressColumns(record: PartitionRecord, progress: LinkProgress): Partial<PartitionRecord> {
  const end = progress.destinationEnd >= 0 ? progress.destinationEnd : record.persistedEnd;
  const known = withUnverified(record.unverified, progress.unverified);
  return {
    persistedEnd: end,
    lastMirrored: { offset: end - 1, sourceEpoch: end === 0 ? -1 : epochOf(record.epochs, end - 1) },
    openIds: progress.openIds,
    unverified: stillLost(progress.lost === null ? known : withLost(known, progress.lost), end),
    settledBy: progress.settledBy === 'none-needed' ? record.settledBy : progress.settledBy,
    ...sourceColumns(record, progress),
  };
}

/** Written down with the end behind it: a later process has nothing left to compare there. */
export function withUnverified(
  known: readonly OffsetRange[],
  found: Pick<OffsetRange, 'from' | 'to'> | null,
): readonly OffsetRange[] {
  if (found === null || known.some(({ from, to }) => from === found.from && to === found.to)) return known;
  return [
    ...known,
    { from: found.from, to: found.to, why: 'the source no longer held it when it was compared' },
  ];
}

const lostWhy = 'the destination lost it, and it was not mirrored again';

/** What the destination lost; a stop before it is mirrored again has it in its report. */
export function withLost(known: readonly OffsetRange[], lost: OffsetSpan): readonly OffsetRange[] {
  return [...known.filter(({ why }) => why !== lostWhy), { from: lost.from, to: lost.to, why: lostWhy }];
}

/** A lost range without what stands below `end` again. */
export function stillLost(known: readonly OffsetRange[], end: number): readonly OffsetRange[] {
  if (!known.some(({ why, from }) => why === lostWhy && from < end)) return known;
  return known.flatMap((range) => {
    if (range.why !== lostWhy) return [range];
    return range.to <= end ? [] : [{ ...range, from: Math.max(range.from, end) }];
  });
}

/** Last seen source end; it is the loss report's measure, so it never falls back to "unknown". */
export function sourceColumns(record: PartitionRecord, progress: LinkProgress): Partial<PartitionRecord> {
  if (progress.sourceHighWatermark < 0 || progress.sourceSeenAt === null) return {};
  if (progress.sourceSeenAt < record.sourceEndAt) return {};
  return { sourceEnd: progress.sourceHighWatermark, sourceEndAt: progress.sourceSeenAt };
}
