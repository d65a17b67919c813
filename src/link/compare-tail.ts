import { baseOffset, lastOffset, producerId } from '../../protocol/records/batch.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import type { Cluster } from '../net/cluster.ts';
import { EndReader } from './end-reader.ts';
import { LinkFailureError, linkFailure, nameOf, range } from './failure.ts';
import { DivergedError, NotReturnedError, READ_UNCOMMITTED, fetchOnce, mayHaveMoved } from './one-fetch.ts';
import { type Away, GivenUpError, backoff, pause } from './pause.ts';
import type { Piece } from './pieces.ts';
import type { PartitionRef } from './ports.ts';
import { type LinkSettings, defaultLinkSettings } from './settings.ts';
import { SourceGoneBeforeError, SourceTail } from './source-tail.ts';
import { TailMatcher } from './tail-matcher.ts';
import { GONE_AFTER_MS, TopicGoneError } from './topic-identity.ts';
import { textOf } from '../net/error-text.ts';

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
  /** Where the destination's log begins: what lies below is not there to be compared. */
  readonly logStart?: number | undefined;
  /** How long the source has to answer; undefined: it is waited for until the signal ends it. */
  readonly deadlineMs?: number | undefined;
  readonly sourceTopicId?: string | undefined;
  readonly destinationTopicId?: string | undefined;
  /** Source leader epoch of the batch before an offset, -1 when not known. */
  readonly epochBefore?: (offset: number) => number;
  readonly signal?: AbortSignal | undefined;
  readonly onWait?: (why: string) => void;
  readonly onMatched?: (piece: Piece) => void;
  /** Run around each wait for the source, during which no answer is held. */
  readonly away?: Away;
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
  const logStart = options.logStart ?? 0;
  if (logStart > from) {
    const look = new Comparison(options, settings, logStart, signal, deadline);
    const next = Math.min(options.to, await look.batchEdgeAt(logStart));
    const why = `${nameOf(options.ref)}: the destination holds nothing below ${logStart} any more`;
    unverified = { from, to: next, why };
    if (next >= options.to) return { kind: 'unverified', ...unverified };
    from = next;
  }

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
      if (!(error instanceof SourceGoneBeforeError || error instanceof DeletedBelowError)) throw error;
      const begin: number = unverified?.from ?? from;
      const next = Math.min(options.to, await one.batchEdgeAt(error.logStart));
      unverified = { from: begin, to: next, why: error.message };
      if (next >= options.to) return { kind: 'unverified', ...unverified };
      from = next;
    }
  }
}

class OutOfTimeError extends Error {}

/** The destination no longer holds what was to be compared. */
class DeletedBelowError extends Error {
  readonly logStart: number;
  constructor(ref: PartitionRef, logStart: number) {
    super(`${nameOf(ref)}: the destination holds nothing below ${logStart} any more`);
    this.logStart = logStart;
  }
}

/** The destination lost what was to be compared: where it ends has to be read and judged anew. */
class EndsBelowError extends Error {}

class Comparison {
  readonly #options: CompareOptions;
  readonly #settings: LinkSettings;
  readonly #ends: EndReader;
  readonly #signal: AbortSignal;
  readonly #deadline: number | null;
  readonly #tail: SourceTail;
  readonly #matcher: TailMatcher;
  readonly #sourceEnds: EndReader;
  #stored: Buffer | null = null;
  /** Offset that the destination was asked for last. */
  #asked = 0;

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
    this.#sourceEnds = new EndReader(options.source, settings);
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
    while (matcher.matchedTo < to) {
      if (this.#tail.pieceAt(matcher.matchedTo) === undefined) await this.#readSource();
      let stored = this.#stored;
      if (stored === null || matcher.matchedTo >= endOf(stored)) {
        stored = await this.#retrying(() => this.#readStored(matcher.matchedTo));
        this.#stored = stored;
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
      const more = await this.#retrying(() => this.#tail.more(), true);
      if (more) return;
      if (faults === 0) await this.#refuseForeign();
      // a new leader's stable offset may lag for a moment
      if (faults >= 2 && this.#deadline === null) await this.#refuseShorterSource();
      const { ref, to, onWait } = this.#options;
      const why = `${nameOf(ref)}: the source has decided up to ${this.#tail.lastStableOffset}, the destination ends at ${to}`;
      onWait?.(why);
      await this.#pauseForSource(faults, why);
    }
  }

  /** What the source's leader doesn't have it never will have again: waiting would be for ever. */
  async #refuseShorterSource(): Promise<void> {
    const { ref, to, sourceTopicId, source } = this.#options;
    const end = await this.#retrying(() => this.#sourceEnds.logEnd(ref, sourceTopicId), true);
    if (end >= to) return;
    const message = `${nameOf(ref)}: the log on ${source.name} ends at ${end}, but the destination holds ${range(end, to)} behind that: the source lost its tail (unclean election, restored log), or something else wrote to the mirror; rebuild the topic`;
    throw new LinkFailureError(linkFailure('diverged', message, end));
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
    this.#asked = offset;
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
    if (endOf(records) <= offset) throw new NotReturnedError(ref, offset);
    return records;
  }

  /** A log that moved while it was compared would be asked for the same for ever. */
  async #judgeMoved(): Promise<void> {
    const { ref, to, destinationTopicId: topicId, onWait } = this.#options;
    const { end, logStart } = await this.#ends.read(ref, { topicId, signal: this.#signal, onWait });
    if (end < to) {
      throw new EndsBelowError(`${nameOf(ref)}: the log at the destination ends at ${end} now, below ${to}`);
    }
    if (logStart > this.#asked) throw new DeletedBelowError(ref, logStart);
  }

  /** Passing errors are waited out; what is final goes through. `ofSource`: nothing read is needed meanwhile. */
  async #retrying<T>(task: () => Promise<T>, ofSource = false): Promise<T> {
    let goneSince: number | null = null;
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
        if (!ofSource && mayHaveMoved(error)) await this.#inTime(this.#judgeMoved());
        if (error instanceof TopicGoneError) {
          goneSince ??= performance.now();
          const gone = performance.now() - goneSince > GONE_AFTER_MS;
          if (gone) throw error.asFailure(ofSource ? 'source-topic-gone' : 'topic-recreated');
        } else {
          goneSince = null;
        }
        this.#options.onWait?.(textOf(error));
        if (ofSource) await this.#pauseForSource(faults, textOf(error));
        else await this.#pause(faults, textOf(error));
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

  /** What was read has been compared up to here: others may use its place. */
  async #pauseForSource(faults: number, why: string): Promise<void> {
    const { away } = this.#options;
    if (away === undefined) return this.#pause(faults, why);
    this.#stored = null;
    this.#tail.forget();
    return away(() => this.#pause(faults, why));
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
