import type { LinkProgress, PartitionRef } from '../link/ports.ts';
import type { PartitionWrites } from './partition-writes.ts';
import type { RepeatedNotes } from './repeated-notes.ts';
import { type PartitionRecord, partitionKey } from './state/types.ts';

export interface ProgressKeeperOptions {
  readonly writes: PartitionWrites;
  readonly notes: RepeatedNotes;
  now(): number;
  records(): Iterable<PartitionRecord>;
  progress(ref: PartitionRef): LinkProgress | undefined;
  /** A partition appends again: its next failure is a new one. */
  worked(ref: PartitionRef): void;
}

const persistMs = 1000;
/** The age of an idle source's last answer is written this often. */
const idlePersistMs = 10_000;
/** A moved leader is found again within this time: not worth a line. */
const passingMs = 3000;

/** Writes down how far the partitions of a mirror came, each second and when they come to MIRRORING. */
export class ProgressKeeper {
  readonly #options: ProgressKeeperOptions;
  readonly #persistedAt = new Map<string, number>();
  #persisted = 0;
  #passingSince: number | null = null;

  constructor(options: ProgressKeeperOptions) {
    this.#options = options;
  }

  /** @returns the topics of which something was written */
  async round(): Promise<ReadonlySet<string>> {
    const now = this.#options.now();
    const due = now - this.#persisted >= persistMs || now < this.#persisted;
    if (due) this.#persisted = now;
    const moved: { ref: PartitionRef; progress: LinkProgress }[] = [];
    let passing: string | null = null;
    for (const record of this.#options.records()) {
      const ref = { topic: record.topic, partition: record.partition };
      const key = partitionKey(record.topic, record.partition);
      const progress = this.#options.progress(ref);
      if (progress === undefined || progress.phase !== 'mirroring') continue;
      passing ??= progress.error;
      // in between only those that have just come to MIRRORING
      if (!due && record.state === 'MIRRORING') continue;
      const idleSince = now - (this.#persistedAt.get(key) ?? 0);
      if (!hasMoved(record, progress) && idleSince < idlePersistMs) continue;
      this.#persistedAt.set(key, now);
      if (progress.destinationEnd > record.persistedEnd) this.#options.worked(ref);
      moved.push({ ref, progress });
    }
    this.#tellPassing(passing, now);
    await this.#options.writes.progressed(moved);
    return new Set(moved.map(({ ref }) => ref.topic));
  }

  /** The log names what keeps a running mirror from going on, once it has lasted. */
  #tellPassing(error: string | null, now: number): void {
    this.#passingSince = error === null ? null : (this.#passingSince ?? now);
    if (error !== null && now - (this.#passingSince ?? now) >= passingMs)
      this.#options.notes.tell('mirroring', error);
  }
}

function hasMoved(record: PartitionRecord, progress: LinkProgress): boolean {
  return (
    record.state !== 'MIRRORING' ||
    progress.destinationEnd > record.persistedEnd ||
    progress.sourceHighWatermark > record.sourceEnd
  );
}
