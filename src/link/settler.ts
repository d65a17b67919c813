import type { Cluster } from '../net/cluster.ts';
import type { EndReader, EndReading } from './end-reader.ts';
import { LinkFailureError } from './failure.ts';
import { READ_UNCOMMITTED, fetchOnce } from './one-fetch.ts';
import { type AppendSpan, type ReadBackVerdict, type TailMatch, judgeReadBack } from './judge.ts';
import { GivenUpError, backoff, pause } from './pause.ts';
import type { PartitionRef, SettledBy } from './ports.ts';
import type { Prober } from './prober.ts';
import type { LinkSettings } from './settings.ts';
import { type ExpectedPiece, TailMatcher } from './tail-matcher.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Finds out what became of an append whose outcome is open (DESIGN 5.5 rules 5 and 7).
 *
 *     ended (its reply came)     read back ─────────────────────────────────────────▶ verdict
 *     lost without a reply       look: read back ── whole and ours ─────────────────▶ verdict
 *                                     └─ absent or partial ── probe, read back ─────▶ verdict
 */
export interface Unclear {
  readonly ref: PartitionRef;
  readonly topicId: string;
  readonly span: AppendSpan;
  /** The request's own reply has come, so it can't be appended any more. */
  readonly ended: boolean;
  readonly expected: ExpectedPiece;
  readonly signal: AbortSignal;
  readonly onWait: (why: string) => void;
}

export interface Settled {
  readonly verdict: ReadBackVerdict;
  readonly by: SettledBy;
  readonly reading: EndReading;
}

const LANE = 'tail';

export class Settler {
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #ends: EndReader;
  readonly #prober: Prober;

  constructor(cluster: Cluster, settings: LinkSettings, ends: EndReader, prober: Prober) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#ends = ends;
    this.#prober = prober;
  }

  /** @throws LinkFailureError topic-recreated; GivenUpError when the signal ends it */
  async settle(unclear: Unclear): Promise<Settled> {
    const first = await this.readBack(unclear);
    const { kind } = first.verdict;
    if (unclear.ended) return { ...first, by: 'reply' };
    if (kind === 'done' || kind === 'failed') return { ...first, by: 'look' };
    await this.probe(unclear, unclear.span.kind === 'markers');
    const second = await this.readBack(unclear);
    return { ...second, by: 'probe' };
  }

  /** Reads the end, and the tail if there is one, and judges it. */
  async readBack(unclear: Unclear): Promise<{ verdict: ReadBackVerdict; reading: EndReading }> {
    const { ref, topicId, span, signal, onWait } = unclear;
    for (let faults = 0; ; faults += 1) {
      const reading = await this.#ends.read(ref, { topicId, signal, onWait });
      if (reading.end <= span.from) {
        const verdict = judgeReadBack(ref, span, reading.end, { matchedTo: span.from, found: null });
        return { verdict, reading };
      }
      try {
        const match = await this.matchTail(unclear, reading);
        return { verdict: judgeReadBack(ref, span, reading.end, match), reading };
      } catch (error) {
        if (error instanceof LinkFailureError || error instanceof GivenUpError) throw error;
        onWait(textOf(error));
        await pause(backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, faults), signal);
      }
    }
  }

  /** Compares the stored tail from `span.from` with what was sent. */
  async matchTail(unclear: Unclear, reading: EndReading): Promise<TailMatch> {
    const { ref, span, signal } = unclear;
    const matcher = new TailMatcher(span.from);
    const to = Math.min(reading.end, span.to);
    while (matcher.matchedTo < to && matcher.difference === null) {
      signal.throwIfAborted();
      const before = matcher.matchedTo;
      const chunk = await fetchOnce(this.#cluster, {
        ref,
        topicId: unclear.topicId,
        leader: reading,
        offset: before,
        isolation: READ_UNCOMMITTED,
        maxBytes: this.#settings.compareBytes,
        timeoutMs: this.#settings.readBackTimeoutMs,
        lane: LANE,
      });
      matcher.compare(chunk.records, to, unclear.expected);
      if (matcher.matchedTo === before && matcher.difference === null) {
        throw new Error(`offset ${before} was not returned though the log ends at ${reading.end}`);
      }
    }
    const found = matcher.difference?.found ?? (reading.end > to ? 'more behind it' : null);
    return { matchedTo: matcher.matchedTo, found };
  }

  /** How far the stored tail from `span.from` on is what is expected; it ends where nothing is expected (yet). */
  async matchedTo(unclear: Unclear, reading: EndReading): Promise<number> {
    const { span, expected } = unclear;
    let to = span.from;
    for (let piece = expected(to); piece !== undefined && to < span.to; piece = expected(to)) to = piece.next;
    const covered = Math.min(to, span.to);
    if (covered === span.from) return covered;
    const match = await this.matchTail({ ...unclear, span: { ...span, to: covered } }, reading);
    return match.matchedTo;
  }

  /**
   * Probe rounds, then the end twice. Where a request may have held markers, the end must stand still over further
   * rounds for `markerStillMs`: other requests run between two markers of one.
   */
  async probe(
    unclear: Pick<Unclear, 'ref' | 'topicId' | 'signal' | 'onWait'>,
    mayHoldMarkers: boolean,
  ): Promise<EndReading> {
    const { ref, topicId, signal, onWait } = unclear;
    const read = (): Promise<EndReading> => this.#ends.read(ref, { topicId, signal, onWait });
    let reading = await read();
    let stillSince: number | null = null;
    for (let faults = 0; ; ) {
      const fault = await this.#prober.round(reading.nodeId, ref, topicId);
      signal.throwIfAborted();
      if (fault !== null) {
        onWait(fault);
        stillSince = null;
        await pause(backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, faults), signal);
        faults += 1;
        reading = await read();
        continue;
      }
      faults = 0;
      const once = await read();
      const twice = await read();
      const moved =
        once.end !== reading.end || twice.end !== once.end || twice.leaderEpoch !== reading.leaderEpoch;
      reading = twice;
      const now = performance.now();
      if (moved) {
        // the first round behind a move is the one that counts
        onWait(
          `the end of the destination still moves (${reading.end}): an older request, or someone else, is writing`,
        );
        stillSince = null;
        continue;
      }
      stillSince ??= now;
      if (!mayHoldMarkers || now - stillSince >= this.#settings.markerStillMs) return reading;
      await pause(Math.min(200, this.#settings.markerStillMs), signal);
    }
  }
}
