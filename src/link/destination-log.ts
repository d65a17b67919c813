import { baseOffset, lastOffset, magic } from '../../protocol/records/batch.ts';
import { barrierId } from '../../protocol/records/ids.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { writeTxnMarkersApi } from '../../protocol/schema/27-write-txn-markers.ts';
import { CallTimeoutError, ConnectionClosedError } from '../net/close-cause.ts';
import type { Cluster } from '../net/cluster.ts';
import { type BrokerConnection, UnsupportedVersionError } from '../net/connection.ts';
import { EndReader, type EndReading } from './end-reader.ts';
import { LinkFailureError, linkFailure, nameOf, range } from './failure.ts';
import { type AppendSpan, rightForMarkers } from './judge.ts';
import { NotReturnedError, READ_UNCOMMITTED, fetchOnce, mayHaveMoved } from './one-fetch.ts';
import { GivenUpError, backoff, pause } from './pause.ts';
import type { MarkerPiece } from './pieces.ts';
import type { PartitionRef } from './ports.ts';
import { Prober } from './prober.ts';
import { type LinkSettings, defaultLinkSettings } from './settings.ts';
import { Settler, type Unclear } from './settler.ts';
import { textOf } from '../net/error-text.ts';

export interface DestinationLogOptions {
  /** Refuses a topic with another id; undefined: whatever topic has the name. */
  readonly topicId?: string | undefined;
  /** Asked before every append, as by the link. */
  readonly mayAppend: () => boolean;
  readonly settings?: Partial<LinkSettings> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told why something takes longer. */
  readonly onWait?: ((why: string) => void) | undefined;
}

export interface BarrierAppend {
  /** The partition's end, at which the barrier is to stand. */
  readonly expectedOffset: number;
  readonly sourceClusterId: string;
  readonly generation: number;
}

/** One stored batch; the bytes are good during the call only. */
export type BatchVisitor = (records: Buffer, at: number, size: number) => void | Promise<void>;

/**
 * One destination partition without a link and without the source: what STOPPING and failover need (DESIGN 6). Reads
 * wait for a leader and for the high watermark as long as the signal lets them.
 */
export class DestinationLog {
  readonly #cluster: Cluster;
  readonly #ref: PartitionRef;
  readonly #options: DestinationLogOptions;
  readonly #settings: LinkSettings;
  readonly #ends: EndReader;
  readonly #prober: Prober;
  readonly #settler: Settler;
  readonly #signal: AbortSignal;

  constructor(destination: Cluster, ref: PartitionRef, options: DestinationLogOptions) {
    this.#cluster = destination;
    this.#ref = ref;
    this.#options = options;
    this.#settings = { ...defaultLinkSettings, ...options.settings };
    this.#ends = new EndReader(destination, this.#settings);
    this.#prober = new Prober(destination, this.#settings);
    this.#settler = new Settler(destination, this.#settings, this.#ends, this.#prober);
    this.#signal = options.signal ?? new AbortController().signal;
  }

  /** Rule 7: log end = high watermark at the highest leader epoch. @throws LinkFailureError topic-recreated */
  readEnd(): Promise<EndReading> {
    const { topicId, onWait } = this.#options;
    return this.#ends.read(this.#ref, { topicId, signal: this.#signal, onWait });
  }

  /** Rule 5 for a new owner: probe rounds until the end stands still. Proves nothing, and was never wrong. */
  async settle(): Promise<EndReading & { readonly settledBy: 'probe' }> {
    const topicId = await this.#topicId();
    const onWait = this.#onWait();
    const reading = await this.#settler.probe(
      { ref: this.#ref, topicId, signal: this.#signal, onWait },
      true,
    );
    return { ...reading, settledBy: 'probe' };
  }

  /**
   * Visits the stored batches that end behind `from` and begin below `to` and are still there, about a MiB in memory at a
   * time.
   * @throws Error when the log ends below `to`
   */
  async readBatches(from: number, to: number, visit: BatchVisitor): Promise<void> {
    let next = from;
    let faults = 0;
    while (next < to) {
      let records: Buffer;
      try {
        const leader = await this.#ends.leader(this.#ref, this.#options.topicId);
        const chunk = await fetchOnce(this.#cluster, {
          ref: this.#ref,
          topicId: this.#cluster.topic(this.#ref.topic)?.topicId ?? '',
          leader,
          offset: next,
          isolation: READ_UNCOMMITTED,
          maxBytes: this.#settings.compareBytes,
          timeoutMs: this.#settings.readBackTimeoutMs,
          lane: 'tail',
        });
        ({ records } = chunk);
        if (records.length === 0) throw new NotReturnedError(this.#ref, next);
        faults = 0;
      } catch (error) {
        if (error instanceof LinkFailureError || error instanceof GivenUpError) throw error;
        this.#options.onWait?.(textOf(error));
        await pause(this.#wait(faults), this.#signal);
        faults += 1;
        if (mayHaveMoved(error)) next = await this.#nextThere(next, to);
        continue;
      }
      const whole: { at: number; size: number }[] = [];
      walkBatches(records, 0, records.length, (at, size) => {
        if (lastOffset(records, at) >= next && baseOffset(records, at) < to) whole.push({ at, size });
      });
      if (whole.length === 0) return;
      for (const { at, size } of whole) {
        if (magic(records, at) !== 2)
          throw new Error(`${nameOf(this.#ref)}: a batch of format ${magic(records, at)}`);
        await visit(records, at, size);
        next = lastOffset(records, at) + 1;
      }
    }
  }

  /** What was deleted, meanwhile or before, is not there to be visited; but what was lost never comes back. */
  async #nextThere(next: number, to: number): Promise<number> {
    const { end, logStart } = await this.readEnd();
    if (end < to) {
      throw new Error(`${nameOf(this.#ref)}: the log at the destination ends at ${end} now, below ${to}`);
    }
    return Math.max(next, logStart);
  }

  /**
   * Writes the barrier at exactly `expectedOffset`, which must be the end, reads it back and compares it. Repeatable:
   * a barrier of this cluster and generation that stands there already is found and left.
   * @throws LinkFailureError when anything else stands there
   */
  async appendBarrier(barrier: BarrierAppend): Promise<EndReading> {
    const { expectedOffset } = barrier;
    const topicId = await this.#topicId();
    const span: AppendSpan = { kind: 'markers', from: expectedOffset, to: expectedOffset + 1 };
    const piece: MarkerPiece = {
      kind: 'barrier',
      offset: expectedOffset,
      next: expectedOffset + 1,
      epoch: -1,
      producerId: barrierId(barrier.sourceClusterId),
      producerEpoch: 0,
      coordinatorEpoch: barrier.generation,
    };
    const unclear = (ended: boolean): Unclear => ({
      ref: this.#ref,
      topicId,
      span,
      ended,
      expected: (offset) => (offset === expectedOffset ? piece : undefined),
      signal: this.#signal,
      onWait: this.#onWait(),
    });
    for (let faults = 0; ; faults += 1) {
      const before = await this.#settler.readBack(unclear(true));
      if (before.verdict.kind === 'done') return before.reading;
      if (before.verdict.kind === 'failed') throw new LinkFailureError(before.verdict.failure);
      if (before.verdict.kind !== 'resend')
        throw new LinkFailureError(this.#shorter(before.reading.end, span));
      const outcome = await this.#sendMarker(before.reading, piece);
      if (outcome.kind !== 'not-sent') {
        const settled = await this.#settler.settle(unclear(outcome.kind === 'ended'));
        if (settled.verdict.kind === 'done') return settled.reading;
        if (settled.verdict.kind === 'failed') throw new LinkFailureError(settled.verdict.failure);
      }
      if (outcome.error === ErrorCode.CLUSTER_AUTHORIZATION_FAILED) {
        const message = `${nameOf(this.#ref)}: the destination refused WriteTxnMarkers with ${errorName(outcome.error)}; ${rightForMarkers}`;
        throw new LinkFailureError(linkFailure('authorization', message, expectedOffset, true));
      }
      this.#options.onWait?.(`barrier at ${expectedOffset} not written yet: ${outcome.why}`);
      await pause(this.#wait(faults), this.#signal);
    }
  }

  async #sendMarker({ nodeId, leaderEpoch }: EndReading, piece: MarkerPiece): Promise<SentMarker> {
    if (!this.#options.mayAppend())
      return { kind: 'not-sent', error: 0, why: 'this instance may not append' };
    let connection: BrokerConnection;
    try {
      connection = await this.#cluster.connection(nodeId, 'barrier');
    } catch (error) {
      return { kind: 'not-sent', error: 0, why: textOf(error) };
    }
    const answered = new AbortController();
    try {
      const marker = {
        producerId: piece.producerId,
        producerEpoch: piece.producerEpoch,
        transactionResult: true,
        topics: [{ name: this.#ref.topic, partitionIndexes: [this.#ref.partition] }],
        coordinatorEpoch: piece.coordinatorEpoch,
      };
      const timeoutMs = this.#settings.silenceMs;
      const answer = await Promise.race([
        connection.call(writeTxnMarkersApi, { markers: [marker] }, { timeoutMs }),
        this.#ledElsewhere(leaderEpoch, answered.signal),
      ]);
      if (typeof answer === 'string') return { kind: 'lost', error: 0, why: answer };
      const code = answer.markers[0]?.topics[0]?.partitions[0]?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
      return { kind: 'ended', error: code, why: errorName(code) };
    } catch (error) {
      const why = textOf(error);
      if (error instanceof CallTimeoutError) throw new LinkFailureError(this.#silent(nodeId, piece.offset));
      if (error instanceof UnsupportedVersionError) return { kind: 'not-sent', error: 0, why };
      // an answer that can't be read is still its end
      if (!(error instanceof ConnectionClosedError)) return { kind: 'ended', error: 0, why };
      return { kind: error.sentBytes ? 'lost' : 'not-sent', error: 0, why };
    } finally {
      answered.abort();
    }
  }

  /**
   * Resolves when the partition is led in a later epoch while a marker has no answer: a broker that is stopped or cut off
   * never gives one, and what it still does then is refused (DESIGN 5.5 rule 5).
   */
  async #ledElsewhere(leaderEpoch: number, answered: AbortSignal): Promise<string> {
    for (;;) {
      await pause(this.#settings.silentAfterMs, answered).catch(() => undefined);
      if (answered.aborted) return 'answered';
      const leader = await this.#ends.leader(this.#ref, this.#options.topicId).catch(() => null);
      if (leader !== null && leader.leaderEpoch > leaderEpoch) {
        return `no answer, and the partition is led by broker ${leader.nodeId} now`;
      }
    }
  }

  /** So long without an answer the connection is given up: the next try settles what became of the marker. */
  #silent(nodeId: number, offset: number) {
    const seconds = Math.round(this.#settings.silenceMs / 1000);
    this.#cluster.dropLane(nodeId, 'barrier', `no answer to WriteTxnMarkers for ${seconds} s`);
    return linkFailure(
      'refused-by-broker',
      `${nameOf(this.#ref)}: broker ${nodeId} of ${this.#cluster.name} has not answered the barrier at ${offset} for ${seconds} s; wait for the broker, then stop again`,
      offset,
      true,
    );
  }

  async #topicId(): Promise<string> {
    if (this.#options.topicId !== undefined) return this.#options.topicId;
    await this.readEnd();
    return this.#cluster.topic(this.#ref.topic)?.topicId ?? '';
  }

  #onWait(): (why: string) => void {
    return (why) => this.#options.onWait?.(why);
  }

  #wait(faults: number): number {
    return backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, faults);
  }

  #shorter(end: number, span: AppendSpan) {
    return linkFailure(
      'foreign-write',
      `${nameOf(this.#ref)}: the destination ends at ${end}, below ${span.from} where the barrier belongs: ${range(end, span.from)} was lost at the destination`,
      end,
    );
  }
}

interface SentMarker {
  readonly kind: 'ended' | 'lost' | 'not-sent';
  readonly error: number;
  readonly why: string;
}
