import { ErrorCode } from '../../protocol/errors.ts';
import type { Cluster } from '../net/cluster.ts';
import { askOffset } from './end-reader.ts';
import { LinkFailureError, nameOf } from './failure.ts';
import { DivergedError, FetchRefusedError, READ_COMMITTED, fetchOnce } from './one-fetch.ts';
import type { Piece } from './pieces.ts';
import type { PartitionRef } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import { freshTopic, whyNoLeader } from './topic-identity.ts';
import { transform } from './transform.ts';

/** The source no longer holds the offset that was asked for. */
export class SourceGoneBeforeError extends Error {
  override readonly name = 'SourceGoneBeforeError';
  readonly logStart: number;
  constructor(ref: PartitionRef, offset: number, logStart: number) {
    super(`${nameOf(ref)}: the source holds nothing below ${logStart} any more, ${offset} was asked for`);
    this.logStart = logStart;
  }
}

/** Bytes may be damaged on the way: a batch that can't be read is fetched again so often. */
const DAMAGED_TRIES = 3;

/** A source partition read step by step as pieces, to be compared with a stored tail. Holds one answer at a time. */
export class SourceTail {
  readonly #source: Cluster;
  readonly #settings: LinkSettings;
  readonly #ref: PartitionRef;
  readonly #topicId: string | undefined;
  #next: number;
  #epoch: number;
  #pieces: Piece[] = [];
  #damaged = 0;
  lastStableOffset = -1;

  constructor(
    source: Cluster,
    settings: LinkSettings,
    from: {
      readonly ref: PartitionRef;
      /** Undefined: whatever topic has the name. */
      readonly topicId: string | undefined;
      readonly offset: number;
      /** Leader epoch of the batch before `offset`, -1 when not known. */
      readonly epoch: number;
    },
  ) {
    this.#source = source;
    this.#settings = settings;
    this.#ref = from.ref;
    this.#topicId = from.topicId;
    this.#next = from.offset;
    this.#epoch = from.epoch;
  }

  /** Lets go of what was read: for a pause, when all of it has been compared. */
  forget(): void {
    this.#pieces = [];
  }

  pieceAt(offset: number): Piece | undefined {
    return this.#pieces.find((piece) => piece.offset <= offset && offset < piece.next);
  }

  /**
   * Reads on, letting go of what was read before.
   * @returns false when the source has decided nothing more (yet)
   * @throws LinkFailureError for what can't be mirrored, a recreated topic; SourceGoneBeforeError; DivergedError;
   * any other Error is passing
   */
  async more(): Promise<boolean> {
    const ref = this.#ref;
    const topic = await freshTopic(this.#source, ref, this.#topicId, this.#settings.readBackTimeoutMs);
    const leader = this.#source.leaderOf(ref.topic, ref.partition);
    if (leader === undefined) throw new Error(whyNoLeader(this.#source, ref));
    const timeoutMs = this.#settings.readBackTimeoutMs;
    try {
      const chunk = await fetchOnce(this.#source, {
        ref,
        topicId: topic.topicId,
        leader,
        offset: this.#next,
        lastFetchedEpoch: this.#epoch,
        isolation: READ_COMMITTED,
        maxBytes: this.#settings.compareBytes,
        timeoutMs,
        lane: 'compare',
      });
      this.lastStableOffset = chunk.lastStableOffset;
      const done = transform(ref, {
        records: chunk.records,
        aborted: chunk.aborted,
        next: this.#next,
        frame: null,
      });
      if (done.pieces.length === 0) {
        const { failure } = done;
        if (failure?.code === 'bad-batch' && (this.#damaged += 1) <= DAMAGED_TRIES) {
          throw new Error(failure.message);
        }
        if (failure !== null) throw new LinkFailureError(failure);
        return false;
      }
      this.#damaged = 0;
      this.#pieces = done.pieces;
      this.#next = done.next;
      this.#epoch = done.epoch;
      return true;
    } catch (error) {
      if (!(error instanceof FetchRefusedError) || error.code !== ErrorCode.OFFSET_OUT_OF_RANGE) throw error;
      const connection = await this.#source.connection(leader.nodeId, 'readback');
      const start = await askOffset(connection, ref, leader.leaderEpoch, -2n, timeoutMs);
      if (typeof start === 'string') throw new Error(start, { cause: error });
      if (this.#next < start) throw new SourceGoneBeforeError(ref, this.#next, start);
      const end = await askOffset(connection, ref, leader.leaderEpoch, -1n, timeoutMs);
      if (typeof end === 'string') throw new Error(end, { cause: error });
      // above the end, or within the log in an epoch that the source never had
      throw new DivergedError(Math.min(this.#next, end));
    }
  }
}
