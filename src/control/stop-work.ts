import type { PartitionRef } from '../link/ports.ts';
import type { Ledger } from './ledger.ts';
import type { CompareTail, DestinationPartition } from './ports.ts';
import { type StopStep, type Stopping, stateColumns, stateOf, stepDone } from './states.ts';
import type { OffsetRange, PartitionRecord, StopProgress } from './state/types.ts';

/** What the stop of one partition works on, and its record: read anew at each step, written step by step. */
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

export function read(work: StopWork): PartitionRecord {
  const { topic, partition } = work.ref;
  const record = work.ledger.view.partitions.get(`${topic}/${partition}`);
  if (record === undefined) throw new StopFailed(`nothing is recorded of ${topic}-${partition}`, false);
  return record;
}

export function stepNow(work: StopWork): number {
  return progress(read(work)).step;
}

export function progress(record: PartitionRecord): StopProgress {
  if (record.stop === null) {
    throw new StopFailed(
      `${record.topic}-${record.partition} is ${record.state}, nobody asked it to stop`,
      false,
    );
  }
  return record.stop;
}

export async function put(
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

export function gone(work: StopWork, record: PartitionRecord): StopFailed {
  return new StopFailed(
    `${work.ref.topic}-${work.ref.partition} became ${record.state} while it was stopped`,
    true,
  );
}
