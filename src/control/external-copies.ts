import type { MirrorRoleGrant, MirrorRolePort } from '../gateway/ports.ts';
import { LinkFailureError } from '../link/index.ts';
import type { LinkProgress, PartitionRef } from '../link/ports.ts';
import { lifecycle } from '../observe/channels.ts';
import type { Ledger } from './ledger.ts';
import type { ExternalCopier } from './linked-partitions.ts';
import { PartitionWrites } from './partition-writes.ts';
import type { Surroundings } from './ports.ts';
import { type PartitionRecord, partitionKey } from './state/types.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Partitions of mirrors with `copier: external`: a foreign process produces through a `role: mirror` gateway, and
 * this is where it learns the offset at which its next batch must land (DESIGN section 7).
 *
 * Without the producer entries of 5.6 nothing can be settled here: whatever leaves an outcome open, and a restart
 * without `released`, makes the partition FAILED.
 */
export class ExternalCopies implements MirrorRolePort, ExternalCopier {
  readonly #ledger: Ledger;
  readonly #surroundings: Surroundings;
  readonly #mayAppend: (topic: string, partition: number) => boolean;
  readonly #held = new Map<string, Held>();
  readonly #adopting = new Set<string>();

  constructor(
    ledger: Ledger,
    surroundings: Surroundings,
    mayAppend: (topic: string, partition: number) => boolean,
  ) {
    this.#ledger = ledger;
    this.#surroundings = surroundings;
    this.#mayAppend = mayAppend;
  }

  grant(mirror: string, topic: string, partition: number): MirrorRoleGrant {
    const record = this.#ledger.view.topics.get(topic);
    if (record === undefined || record.mirror !== mirror) {
      return { kind: 'refused', message: `topic ${topic} is not part of mirror ${mirror}` };
    }
    if (this.#ledger.view.mirrors.get(mirror)?.copier !== 'external') {
      return {
        kind: 'refused',
        message: `mirror ${mirror} copies by itself; set copier: external to copy into it`,
      };
    }
    const key = partitionKey(topic, partition);
    const held = this.#held.get(key);
    if (
      held === undefined ||
      held.closing ||
      !this.#isOpen({ topic, partition }) ||
      !this.#mayAppend(topic, partition)
    ) {
      return { kind: 'not-leader', message: `${topic}-${partition} of mirror ${mirror} is not ready here` };
    }
    return { kind: 'owned', expectedOffset: held.end };
  }

  begins(_mirror: string, topic: string, partition: number): void {
    const held = this.#held.get(partitionKey(topic, partition));
    if (held === undefined) return;
    const broker = this.#surroundings.leaderOf({ topic, partition });
    held.append = { ...Promise.withResolvers<void>(), broker, isOver: false };
  }

  notStored(_mirror: string, topic: string, partition: number): void {
    outcomeOf(this.#held.get(partitionKey(topic, partition)));
  }

  appended(mirror: string, topic: string, partition: number, baseOffset: number, count: number): void {
    const held = this.#held.get(partitionKey(topic, partition));
    if (held === undefined) return;
    outcomeOf(held);
    if (baseOffset !== held.end) {
      this.failed(mirror, topic, partition, `a batch landed at offset ${baseOffset}, expected ${held.end}`);
      return;
    }
    held.end = baseOffset + count;
    held.batches += 1;
  }

  failed(mirror: string, topic: string, partition: number, message: string): void {
    const held = this.#held.get(partitionKey(topic, partition));
    outcomeOf(held);
    if (held?.closing === true) {
      // the stop that waits for it probes, and judges whatever stands there
      lifecycle.publish({ level: 'warn', message: `${message}; the stop of the partition settles it` });
      return;
    }
    this.#held.delete(partitionKey(topic, partition));
    new PartitionWrites(this.#ledger, mirror)
      .failed({ topic, partition }, message, false, 0)
      .catch((error: unknown) => {
        const text = textOf(error);
        lifecycle.publish({
          level: 'error',
          message: `${topic}-${partition} could not be marked FAILED: ${text}`,
        });
      });
  }

  adopt(mirror: string, record: PartitionRecord, releasedEnd: number | null, begins: () => void): void {
    const key = partitionKey(record.topic, record.partition);
    if (this.#held.has(key) || this.#adopting.has(key)) return;
    this.#adopting.add(key);
    void this.#adopt(mirror, record, releasedEnd, begins).finally(() => this.#adopting.delete(key));
  }

  async end(topic: string, partition: number, silenceMs: number): Promise<LinkProgress | undefined> {
    const held = this.#held.get(partitionKey(topic, partition));
    if (held === undefined) return undefined;
    held.closing = true;
    const { append } = held;
    if (append !== null && (await this.#isSilent(append.promise, silenceMs))) {
      // As for an append of the link: after so long it counts as lost, and the next try probes.
      this.release(topic, partition);
      const broker = append.broker === undefined ? 'the broker' : `broker ${append.broker}`;
      throw new LinkFailureError({
        code: 'refused-by-broker',
        message:
          `${topic}-${partition}: ${broker} of ${this.#surroundings.destination.name} has not answered the copier's ` +
          `Produce at offset ${held.end} for ${silenceMs / 1000} s; wait for the broker, then stop again`,
        offset: held.end,
        retriable: true,
      });
    }
    const progress = this.progress(topic, partition);
    this.release(topic, partition);
    return progress;
  }

  async #isSilent(append: Promise<void>, silenceMs: number): Promise<boolean> {
    const over = new AbortController();
    const silent = this.#surroundings.sleep(silenceMs, over.signal).then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([append.then(() => false), silent]);
    } finally {
      over.abort();
    }
  }

  release(topic: string, partition: number): void {
    this.#held.delete(partitionKey(topic, partition));
  }

  progress(topic: string, partition: number): LinkProgress | undefined {
    const held = this.#held.get(partitionKey(topic, partition));
    if (held === undefined) return undefined;
    return {
      phase: 'mirroring',
      sourceHighWatermark: -1,
      sourceLastStableOffset: -1,
      sourceSeenAt: null,
      destinationEnd: held.end,
      lastSourceEpoch: -1,
      error: null,
      requestAgeMs: 0,
      settledBy: 'none-needed',
      counts: {
        dataBatches: held.batches,
        dataBytes: 0,
        commitMarkers: 0,
        inertMarkers: 0,
        barriers: 0,
        rebuiltBatches: 0,
      },
      openIds: [],
      unverified: null,
      lost: null,
    };
  }

  /** Exact ends, for `released`: none while the outcome of an append is not known. */
  ends(): Map<string, number> {
    const known = [...this.#held].filter(([, { append }]) => append === null || append.isOver);
    return new Map(known.map(([key, { end }]) => [key, end]));
  }

  /** false once it is stopped or has failed. */
  #isOpen({ topic, partition }: PartitionRef): boolean {
    const state = this.#ledger.view.partitions.get(partitionKey(topic, partition))?.state;
    return state === 'LOG_ALIGNMENT' || state === 'MIRRORING';
  }

  async #adopt(
    mirror: string,
    record: PartitionRecord,
    releasedEnd: number | null,
    begins: () => void,
  ): Promise<void> {
    const ref = { topic: record.topic, partition: record.partition };
    const writes = new PartitionWrites(this.#ledger, mirror);
    try {
      // A source epoch is noted when a partition is handed out for the first time: none, and nobody ever appended.
      const expected = record.epochs.length === 0 ? 0 : releasedEnd;
      if (expected === null) {
        const text = `${ref.topic}-${ref.partition}: the last process ended without writing down its end`;
        await writes.failed(ref, `${text}, and what its copier had on its way can't be known`, false, 0);
        return;
      }
      const { end } = await this.#surroundings.partition(mirror, ref).readEnd();
      if (end !== expected) {
        const text = `${ref.topic}-${ref.partition} ends at ${end}, expected ${expected}: somebody else wrote to it`;
        await writes.failed(ref, text, false, 0);
        return;
      }
      if (!this.#isOpen(ref)) return;
      await writes.epochBegins(ref, { epoch: 0, offset: 0 });
      // Stopped meanwhile: the stop found nobody who held it, and must not be followed by one who does.
      if (!this.#isOpen(ref)) return;
      begins();
      this.#held.set(partitionKey(ref.topic, ref.partition), {
        end,
        batches: 0,
        append: null,
        closing: false,
      });
    } catch {
      // The cluster did not answer: the runner adopts again in its next round.
    }
  }
}

interface Held {
  end: number;
  batches: number;
  /** The append on its way, or the last one: settled when its outcome is known. */
  append: CopiersAppend | null;
  /** Nothing is granted any more. */
  closing: boolean;
}

interface CopiersAppend extends PromiseWithResolvers<void> {
  /** Who led the partition when it was sent, as far as known. */
  readonly broker: number | undefined;
  isOver: boolean;
}

function outcomeOf(held: Held | undefined): void {
  if (held === undefined || held.append === null) return;
  held.append.isOver = true;
  held.append.resolve();
}
