import type { LinkFailure, LinkHooks, LinkProgress, PartitionRef, ResumePoint } from '../link/ports.ts';
import type { Ledger } from './ledger.ts';
import { type PartitionWrites, progressColumns, sourceColumns, withLost } from './partition-writes.ts';
import type { LinkPort, SourceSession, Surroundings } from './ports.ts';
import type { SourceKeeper } from './source-keeper.ts';
import {
  type MirrorRecord,
  type PartitionRecord,
  type StateStore,
  type TopicRecord,
  partitionKey,
} from './state/types.ts';
import type { KnownEnd } from './stopping.ts';

/** The mirror-role side of a partition with `copier: external`. */
export interface ExternalCopier {
  /**
   * Called with the record each time round; does nothing for a partition it holds already.
   * @param begins called before the first grant: what the last process released no longer counts
   */
  adopt(mirror: string, record: PartitionRecord, releasedEnd: number | null, begins: () => void): void;
  /**
   * Gives nothing more out for the partition, waits for the append on its way and lets go.
   * @returns what was known last; undefined when the partition was not held
   * @throws LinkFailureError naming the broker when that append stays silent for so long; it is let go all the same
   */
  end(topic: string, partition: number, silenceMs: number): Promise<LinkProgress | undefined>;
  /** Lets go at once. */
  release(topic: string, partition: number): void;
  progress(topic: string, partition: number): LinkProgress | undefined;
}

export interface LinkedPartitionsOptions {
  readonly mirror: MirrorRecord;
  readonly surroundings: Surroundings;
  readonly ledger: Ledger;
  readonly store: Pick<StateStore, 'mayAppend' | 'releasedEnd'>;
  readonly source: SourceKeeper;
  readonly external: ExternalCopier;
  readonly writes: PartitionWrites;
  readonly signal: AbortSignal;
  /** After the partition has left the link. */
  failed(ref: PartitionRef, failure: LinkFailure): Promise<void>;
  /** A partition left: its topic is prepared anew before it comes back. */
  left(ref: PartitionRef): void;
}

/** At a clean end of the process; the partition is then not released, and the next process probes. */
const closeSilenceMs = 5000;

/** Which partitions the mirror's link (or its external copier) holds, and what is known when they come and go. */
export class LinkedPartitions {
  readonly #options: LinkedPartitionsOptions;
  readonly #linked = new Map<string, PartitionRef>();
  /** Partitions that any part of this process may have appended to: what the last process released no longer counts. */
  readonly #touched = new Set<string>();
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #failing = new Set<string>();

  constructor(options: LinkedPartitionsOptions) {
    this.#options = options;
  }

  get #isExternal(): boolean {
    return this.#options.mirror.copier === 'external';
  }

  /** STOPPING step 1: so long may an append on its way stay silent. */
  get #silenceMs(): number {
    const { surroundings, mirror } = this.#options;
    return surroundings.silenceMs(mirror.name);
  }

  /** false for a partition that may be handed over now. */
  isBusy(ref: PartitionRef): boolean {
    const key = keyOf(ref);
    return this.#linked.has(key) || this.#leaving.has(key) || this.#failing.has(key);
  }

  isLeaving(ref: PartitionRef): boolean {
    return this.#leaving.has(keyOf(ref));
  }

  progress(ref: PartitionRef): LinkProgress | undefined {
    if (this.#isExternal) return this.#options.external.progress(ref.topic, ref.partition);
    return this.#linked.has(keyOf(ref)) ? this.#options.source.link?.progress(ref) : undefined;
  }

  /** Exact end that the last process wrote down at its clean end, while this one has not appended. */
  releasedEnd(ref: PartitionRef): number | null {
    return this.#touched.has(keyOf(ref)) ? null : this.#options.store.releasedEnd(ref.topic, ref.partition);
  }

  hand(topic: TopicRecord, record: PartitionRecord, session: SourceSession): void {
    const key = keyOf(record);
    const ref = { topic: record.topic, partition: record.partition };
    const released = this.releasedEnd(ref);
    if (this.#isExternal) {
      const { external, mirror } = this.#options;
      external.adopt(mirror.name, record, released, () => this.#touched.add(key));
      return;
    }
    this.#touched.add(key);
    this.#linked.set(key, ref);
    this.#link(session).add(ref, resumePoint(topic, record, released));
  }

  /** Takes a partition that failed from the link; nothing that it says is believed. */
  leave(ref: PartitionRef): Promise<void> {
    const key = keyOf(ref);
    const leaving = this.#leaving.get(key);
    if (leaving !== undefined) return leaving;
    if (!this.#linked.has(key)) return Promise.resolve();
    const { link } = this.#options.source;
    const work = (async () => {
      await link?.remove(ref, { silenceMs: closeSilenceMs }).catch(() => undefined);
      this.#linked.delete(key);
      this.#leaving.delete(key);
      this.#options.left(ref);
    })();
    this.#leaving.set(key, work);
    return work;
  }

  /**
   * STOPPING step 1.
   * @returns null when the partition was not held, or its end is not exact
   * @throws LinkFailureError naming the broker when its append stays silent
   */
  async end(ref: PartitionRef): Promise<KnownEnd | null> {
    const key = keyOf(ref);
    await this.#leaving.get(key);
    this.#touched.add(key);
    if (this.#isExternal) return this.#endExternal(ref);
    const { link } = this.#options.source;
    if (link === null || !this.#linked.has(key)) return null;
    const { end, progress } = await link.remove(ref, { silenceMs: this.#silenceMs });
    this.#linked.delete(key);
    if (progress === null) return null;
    const { lost } = progress;
    await this.#note(ref, (record) => ({
      ...sourceColumns(record, progress),
      ...(lost === null ? {} : { unverified: withLost(record.unverified, lost) }),
    }));
    // where the log ends then is not where it ended once: the stop reads and judges it
    if (end === null || lost !== null) return null;
    const { openIds, unverified } = progress;
    return { end, openIds, unverified };
  }

  /** What was acknowledged is kept; an append whose outcome stayed open is found by probing. */
  async #endExternal(ref: PartitionRef): Promise<null> {
    const progress = await this.#options.external.end(ref.topic, ref.partition, this.#silenceMs);
    if (progress !== undefined) await this.#note(ref, (record) => progressColumns(record, progress));
    return null;
  }

  /** Takes every partition from the link; only those that know their exact end come back. */
  async endAll(): Promise<{ ref: PartitionRef; progress: LinkProgress }[]> {
    await Promise.allSettled(this.#leaving.values());
    const { link } = this.#options.source;
    if (link === null) return [];
    const all = await Promise.all(
      [...this.#linked.values()].map(async (ref) => {
        const { end, progress } = await link
          .remove(ref, { silenceMs: closeSilenceMs })
          .catch(() => ({ end: null, progress: null }));
        // one that state was not told of yet would be told to nobody any more
        if (end === null || progress === null || progress.lost !== null) return [];
        return [{ ref, progress: { ...progress, phase: 'mirroring' as const, destinationEnd: end } }];
      }),
    );
    return all.flat();
  }

  async #note(
    ref: PartitionRef,
    columns: (record: PartitionRecord) => Partial<PartitionRecord>,
  ): Promise<void> {
    await this.#options.ledger.update((draft) => {
      const record = draft.partition(ref.topic, ref.partition);
      if (record !== undefined) draft.put({ ...record, ...columns(record) });
    });
  }

  #link(session: SourceSession): LinkPort {
    const { source, writes, signal, store, surroundings } = this.#options;
    const hooks: LinkHooks = {
      epochBegins: (ref, start) => writes.epochBegins(ref, start),
      rewound: (ref, lost, openIds) => writes.rewound(ref, lost, openIds),
      failed: (ref, failure) => {
        const key = keyOf(ref);
        // A partition that was taken away meanwhile is stopped by whoever took it.
        if (!this.#linked.has(key)) return;
        // Until the failure is on record it looks like one that is to be mirrored.
        this.#failing.add(key);
        void this.leave(ref)
          .then(() => this.#options.failed(ref, failure))
          .finally(() => this.#failing.delete(key));
      },
      mayAppend: ({ topic, partition }) => !signal.aborted && store.mayAppend(topic, partition),
      raiseMaxMessageBytes: (topic, bytes) =>
        surroundings.destination.alterTopicConfigs(topic, [
          { name: 'max.message.bytes', value: String(bytes) },
        ]),
    };
    return source.linkWith(session, hooks);
  }
}

function resumePoint(topic: TopicRecord, record: PartitionRecord, released: number | null): ResumePoint {
  return {
    sourceTopicId: topic.sourceTopicId,
    destinationTopicId: topic.destinationTopicId,
    persistedEnd: released ?? record.persistedEnd,
    // An epoch is written down before its first append: no epoch, no append by anyone.
    released: released !== null || record.epochs.length === 0,
    epochs: record.epochs,
    openIds: record.openIds,
  };
}

function keyOf(ref: PartitionRef): string {
  return partitionKey(ref.topic, ref.partition);
}
