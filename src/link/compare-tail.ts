import { baseOffset, lastOffset, producerId } from '../../protocol/records/batch.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import type { Cluster } from '../net/cluster.ts';
import { EndReader } from './end-reader.ts';
import { LinkFailureError, linkFailure, nameOf, range, textOf } from './failure.ts';
import { DivergedError, READ_UNCOMMITTED, fetchOnce } from './one-fetch.ts';
import { GivenUpError, backoff, pause } from './pause.ts';
import type { Piece } from './pieces.ts';
import type { PartitionRef } from './ports.ts';
import { type LinkSettings, defaultLinkSettings } from './settings.ts';
import { SourceGoneBeforeError, SourceTail } from './source-tail.ts';
import { TailMatcher } from './tail-matcher.ts';

export type TailComparison =
  | { readonly kind: 'equal' }
  /** [from, to) could not be compared; what was compared beside it is equal. */
  | { readonly kind: 'unverified'; readonly from: number; readonly to: number; readonly why: string }
  | { readonly kind: 'differs'; readonly offset: number; readonly message: string };

export interface CompareOptions {
  readonly source: Cluster;
  readonly destination: Cluster;
  readonly ref: PartitionRef;
  /** Range of offsets: the destination's stored batches that begin in [from, to). */
  readonly from: number;
  readonly to: number;
  /** How long the source has to answer; undefined: it is waited for until the signal ends it. */
  readonly deadlineMs?: number | undefined;
  readonly sourceTopicId?: string | undefined;
  readonly destinationTopicId?: string | undefined;
  /** Source leader epoch of the batch before an offset, -1 when not known. */
  readonly epochBefore?: (offset: number) => number;
  readonly signal?: AbortSignal | undefined;
  readonly onWait?: (why: string) => void;
  readonly onMatched?: (piece: Piece) => void;
  readonly settings?: LinkSettings;
}

/**
 * Fetches the source again from `from`, transforms it, and compares every stored batch and marker up to `to` with
 * what it gives: data by bytes, markers by id and epochs (DESIGN 5.5 rule 9 and 6 STOPPING 3). Two answers are held
 * at a time.
 * @throws LinkFailureError for a recreated topic or source data that can't be mirrored; GivenUpError
 */
export async function compareTail(options: CompareOptions): Promise<TailComparison> {
  const settings = options.settings ?? defaultLinkSettings;
  const deadline = options.deadlineMs === undefined ? null : performance.now() + options.deadlineMs;
  const signal = options.signal ?? new AbortController().signal;
  let { from } = options;
  let unverified: { from: number; to: number; why: string } | null = null;

  for (;;) {
    const one = new Comparison(options, settings, from, signal, deadline);
    try {
      const difference = await one.run();
      if (difference !== null) return difference;
      return unverified === null ? { kind: 'equal' } : { kind: 'unverified', ...unverified };
    } catch (error) {
      if (error instanceof OutOfTimeError) {
        const start: number = unverified === null ? one.matchedTo : unverified.from;
        return { kind: 'unverified', from: start, to: options.to, why: error.message };
      }
      if (!(error instanceof SourceGoneBeforeError)) throw error;
      const begin: number = unverified?.from ?? from;
      const next = Math.min(options.to, await one.batchEdgeAt(error.logStart));
      unverified = { from: begin, to: next, why: error.message };
      if (next >= options.to) return { kind: 'unverified', ...unverified };
      from = next;
    }
  }
}

class OutOfTimeError extends Error {}

class Comparison {
  readonly #options: CompareOptions;
  readonly #settings: LinkSettings;
  readonly #ends: EndReader;
  readonly #signal: AbortSignal;
  readonly #deadline: number | null;
  readonly #tail: SourceTail;
  readonly #matcher: TailMatcher;

  constructor(
    options: CompareOptions,
    settings: LinkSettings,
    from: number,
    signal: AbortSignal,
    deadline: number | null,
  ) {
    this.#options = options;
    this.#settings = settings;
    this.#signal = signal;
    this.#deadline = deadline;
    this.#ends = new EndReader(options.destination, settings);
    this.#tail = new SourceTail(options.source, settings, {
      ref: options.ref,
      topicId: options.sourceTopicId,
      offset: from,
      epoch: options.epochBefore?.(from) ?? -1,
    });
    this.#matcher = new TailMatcher(from, options.onMatched);
  }

  get matchedTo(): number {
    return this.#matcher.matchedTo;
  }

  /** @returns the first difference, or null when all is equal */
  async run(): Promise<Extract<TailComparison, { kind: 'differs' }> | null> {
    const { to, ref } = this.#options;
    const matcher = this.#matcher;
    let stored: Buffer | null = null;
    let storedTo = matcher.matchedTo;
    while (matcher.matchedTo < to) {
      if (this.#tail.pieceAt(matcher.matchedTo) === undefined) await this.#readSource();
      if (stored === null || matcher.matchedTo >= storedTo) {
        stored = await this.#retrying(() => this.#readStored(matcher.matchedTo));
        storedTo = endOf(stored);
      }
      matcher.compare(stored, to, (offset) => this.#tail.pieceAt(offset));
      const { difference } = matcher;
      if (difference !== null) {
        const piece = this.#tail.pieceAt(difference.offset);
        return {
          kind: 'differs',
          offset: difference.offset,
          message: `${nameOf(ref)}: the destination holds ${difference.found} at offset ${difference.offset} where the source gives ${describePiece(piece)}; destination range ${range(difference.offset, to)} differs from source range ${range(difference.offset, to)}, rebuild the topic`,
        };
      }
    }
    return null;
  }

  /** The first edge between stored batches at or behind `offset`. */
  async batchEdgeAt(offset: number): Promise<number> {
    if (offset >= this.#options.to) return this.#options.to;
    const stored = await this.#retrying(() => this.#readStored(offset));
    return baseOffset(stored, 0) < offset ? lastOffset(stored, 0) + 1 : offset;
  }

  async #readSource(): Promise<void> {
    for (let faults = 0; ; faults += 1) {
      const more = await this.#retrying(() => this.#tail.more());
      if (more) return;
      if (faults === 0) await this.#refuseForeign();
      const { ref, to, onWait } = this.#options;
      const why = `${nameOf(ref)}: the source has decided up to ${this.#tail.lastStableOffset}, the destination ends at ${to}`;
      onWait?.(why);
      await this.#pause(faults, why);
    }
  }

  /** A batch with a local producer's id was never ours: no need to wait for what the source will say. */
  async #refuseForeign(): Promise<void> {
    const { ref, to } = this.#options;
    const from = this.#matcher.matchedTo;
    const stored = await this.#retrying(() => this.#readStored(from));
    let foreign: { readonly offset: number; readonly id: bigint } | null = null;
    walkBatches(stored, 0, stored.length, (at) => {
      if (foreign !== null || lastOffset(stored, at) < from || producerId(stored, at) < 0n) return;
      foreign = { offset: baseOffset(stored, at), id: producerId(stored, at) };
    });
    if (foreign === null) return;
    const { offset, id } = foreign as { offset: number; id: bigint };
    const message = `${nameOf(ref)}: a local producer (id ${id}) wrote to the mirror at offset ${offset}; destination range ${range(offset, to)} is not the source's, which has decided up to ${this.#tail.lastStableOffset}; rebuild the topic`;
    throw new LinkFailureError(linkFailure('foreign-write', message, offset));
  }

  async #readStored(offset: number): Promise<Buffer> {
    const { ref, destination, destinationTopicId } = this.#options;
    const leader = await this.#ends.leader(ref, destinationTopicId);
    const { records } = await fetchOnce(destination, {
      ref,
      topicId: destinationTopicId ?? destination.topic(ref.topic)?.topicId ?? '',
      leader,
      offset,
      isolation: READ_UNCOMMITTED,
      maxBytes: this.#settings.compareBytes,
      timeoutMs: this.#settings.readBackTimeoutMs,
      lane: 'compare',
    });
    if (endOf(records) <= offset) throw new Error(`${nameOf(ref)}: offset ${offset} was not returned`);
    return records;
  }

  /** Passing errors are waited out; what is final goes through. */
  async #retrying<T>(task: () => Promise<T>): Promise<T> {
    for (let faults = 0; ; faults += 1) {
      try {
        return await this.#inTime(task());
      } catch (error) {
        if (error instanceof DivergedError) throw new LinkFailureError(this.#diverged(error));
        const final =
          error instanceof LinkFailureError ||
          error instanceof GivenUpError ||
          error instanceof OutOfTimeError ||
          error instanceof SourceGoneBeforeError;
        if (final) throw error;
        this.#options.onWait?.(textOf(error));
        await this.#pause(faults, textOf(error));
      }
    }
  }

  /** Connecting to a cluster that is down takes longer than a deadline may allow. */
  async #inTime<T>(task: Promise<T>): Promise<T> {
    if (this.#deadline === null) return task;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const why = `${this.#options.source.name} did not answer in ${this.#options.deadlineMs} ms`;
      timer = setTimeout(
        () => reject(new OutOfTimeError(why)),
        Math.max(0, (this.#deadline ?? 0) - performance.now()),
      );
    });
    try {
      return await Promise.race([task, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #pause(faults: number, why: string): Promise<void> {
    let ms = backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, faults);
    if (this.#deadline !== null) {
      const left = this.#deadline - performance.now();
      if (left <= 0) throw new OutOfTimeError(why);
      ms = Math.min(ms, left);
    }
    await pause(ms, this.#signal);
  }

  #diverged(error: DivergedError) {
    const { ref, to } = this.#options;
    return {
      code: 'diverged' as const,
      message: `${nameOf(ref)}: the source's log has diverged at ${error.endOffset} (unclean election); destination range ${range(error.endOffset, to)} is no longer the source's, rebuild the topic`,
      offset: error.endOffset,
      retriable: false,
    };
  }
}

/** Offset behind the last whole batch, -1 for none. */
function endOf(records: Buffer): number {
  let end = -1;
  walkBatches(records, 0, records.length, (at) => {
    end = lastOffset(records, at) + 1;
  });
  return end;
}

function describePiece(piece: Piece | undefined): string {
  if (piece === undefined) return 'nothing';
  const offsets = range(piece.offset, piece.next);
  switch (piece.kind) {
    case 'data':
      return `a batch of ${offsets}, ${piece.bytes.length} bytes`;
    case 'inert':
      return `an inert marker (${offsets})`;
    default:
      return `a ${piece.kind} marker of producer id ${piece.producerId} epoch ${piece.producerEpoch}`;
  }
}
