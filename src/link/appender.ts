import type { Cluster } from '../net/cluster.ts';
import { AppendLanes } from './append-lanes.ts';
import { DataEngine, type Outcomes } from './data-engine.ts';
import type { EndReader, EndReading } from './end-reader.ts';
import { LinkFailureError, linkFailure, nameOf } from './failure.ts';
import { whyNoLeader } from './topic-identity.ts';
import { isStuck } from './fetch-plan.ts';
import type { FramePool } from './frame-pool.ts';
import { type ReadBackVerdict, type ReplyVerdict, judgeIdleEnd } from './judge.ts';
import { MarkerEngine } from './marker-engine.ts';
import { takeWhatIsOurs, untilSettled } from './open-outcome.ts';
import { type AppendRequest, IDLE, type MirrorPartition, PREPARING, WAITING } from './partition.ts';
import { GivenUpError, backoff, pause } from './pause.ts';
import type { DataPiece, Piece } from './pieces.ts';
import type { LinkFailure, LinkHooks } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import { RequestLimits } from './request-limits.ts';
import type { Settler } from './settler.ts';
import { TopicLimits } from './topic-limits.ts';
import { tellLost } from './unclear.ts';
import { textOf } from '../net/error-text.ts';

export interface AppenderOptions {
  readonly mirror: string;
  readonly destination: Cluster;
  readonly settings: LinkSettings;
  readonly hooks: LinkHooks;
  readonly ends: EndReader;
  readonly settler: Settler;
  readonly signalOf: (partition: MirrorPartition) => AbortSignal;
  readonly fail: (partition: MirrorPartition, failure: LinkFailure) => void;
  /** Those of the link. */
  readonly partitions: () => Iterable<MirrorPartition>;
  /** The partition's queue has room, or it must be fetched from another place. */
  readonly wantsMore: (partition: MirrorPartition) => void;
}

const CORRUPT_TRIES = 3;

/**
 * Moves the head of each partition's queue into its log, one request in progress per partition (DESIGN 5.5 rule 1).
 * It knows what must be true before an append: the end was read in the current leader epoch, and the source epoch
 * of the piece stands in state.
 */
export class Appender implements Outcomes {
  readonly #options: AppenderOptions;
  readonly #lanes: AppendLanes;
  readonly #topicLimits: TopicLimits;

  constructor(options: AppenderOptions) {
    this.#options = options;
    const { destination, settings, mirror, hooks } = options;
    const limits = new RequestLimits(destination, settings);
    const data = new DataEngine(destination, settings, limits, mirror, this);
    const markers = new MarkerEngine(destination, settings, limits, mirror, this);
    this.#topicLimits = new TopicLimits(hooks);
    this.#lanes = new AppendLanes(destination, data, markers, {
      mayAppend: ({ ref }) => hooks.mayAppend(ref),
      unreachable: (partitions, why) => {
        for (const partition of partitions) this.#wait(partition, why);
      },
      opened: async (nodeId, again) => {
        await limits.learn(nodeId);
        if (again) this.#readAgainAt(nodeId);
      },
    });
  }

  /** Looks whether the partition can append, and does what is next. Cheap when there is nothing to do. */
  kick(partition: MirrorPartition): void {
    if (partition.append.at !== 'idle' || partition.phase !== 'mirroring') return;
    const piece = partition.queue.head;
    if (piece === undefined) {
      if (partition.stopAtEnd !== null) this.#options.fail(partition, partition.stopAtEnd);
      return;
    }
    const leader = this.#options.destination.leaderOf(partition.ref.topic, partition.ref.partition);
    if (leader === undefined) {
      this.#wait(partition, whyNoLeader(this.#options.destination, partition.ref));
    } else if (leader.leaderEpoch !== partition.verifiedEpoch) {
      void this.verifyEnd(partition);
    } else if (partition.mustTellLoss) {
      void this.#tellLoss(partition);
    } else if (partition.mustBegin(piece.epoch)) {
      void this.#beginEpoch(partition, piece);
    } else if (piece.kind === 'data') {
      this.#lanes.data(leader.nodeId).offer(partition);
    } else {
      this.#lanes.markers(leader.nodeId).offer(partition);
    }
  }

  /**
   * The leader may be another one by now. A partition that waits behind the request of another at its old leader is
   * taken away from there: that broker may be silent for long.
   */
  lookAgain(partition: MirrorPartition): void {
    if (partition.append.at === 'offered') {
      const leader = this.#options.destination.leaderOf(partition.ref.topic, partition.ref.partition);
      if (leader?.leaderEpoch === partition.verifiedEpoch) return;
      if (!this.#lanes.withdraw(partition)) return;
      this.#idle(partition);
      return;
    }
    this.kick(partition);
  }

  /** Partitions that can't be appended now and whose queues others could use: stuck ones, and those behind a silent request. */
  stuck(partitions: readonly MirrorPartition[], now: number): MirrorPartition[] {
    const { settings } = this.#options;
    const behind = this.#lanes.behindSilence(now, settings.silentAfterMs);
    return partitions.filter((partition) => behind.has(partition) || isStuck(partition, now, settings));
  }

  /**
   * The batch of an unanswered request is kept in a buffer of its own: it may be needed for a comparison long after,
   * and the response that it came with holds memory for many. Not while the system may still read it there.
   */
  detach({ append, queue }: MirrorPartition, pool: FramePool): void {
    if (append.at !== 'settling' && append.at !== 'sent') return;
    const { request } = append;
    if (append.at === 'sent' && !this.#lanes.hasSentAll(request.nodeId)) return;
    queue.detach(request.to, (copy) => pool.adopt(copy, 0));
  }

  close(): void {
    this.#lanes.close();
  }

  unsendable(partition: MirrorPartition, failure: LinkFailure): void {
    this.#options.fail(partition, failure);
  }

  rejected(partition: MirrorPartition): void {
    partition.appendError = null;
    this.#options.wantsMore(partition);
    this.kick(partition);
  }

  replied(partition: MirrorPartition, request: AppendRequest, verdict: ReplyVerdict): void {
    if (partition.closed) {
      partition.requestEnded();
      return;
    }
    switch (verdict.kind) {
      case 'done':
        partition.appended(request.to);
        partition.corruptReplies = 0;
        partition.raises = 0;
        this.#idle(partition);
        return;
      case 'resend':
        // every broker is asked who leads now: the one that tells metadata may be cut off and not know
        if (verdict.moved === true) partition.verifiedEpoch = -1;
        this.#wait(partition, verdict.error);
        return;
      case 'refetch':
        this.#refetch(partition, request, verdict.error);
        return;
      case 'too-large':
        void this.#raiseLimit(partition, request);
        return;
      case 'open':
        partition.appendError = verdict.error;
        void this.#settle(partition, request, true, verdict.refusal);
        return;
      case 'failed':
        this.#options.fail(partition, verdict.failure);
        return;
      default:
        verdict satisfies never;
    }
  }

  lost(partition: MirrorPartition, request: AppendRequest, why: string): void {
    if (partition.closed) {
      partition.requestEnded();
      return;
    }
    partition.appendError = why;
    void this.#settle(partition, request, false);
  }

  /**
   * Rule 7 for a request that has no clear outcome; `ended` = its own reply came.
   * @param refusal what the reply means once the log shows that nothing was appended
   */
  #settle(
    partition: MirrorPartition,
    request: AppendRequest,
    ended: boolean,
    refusal?: LinkFailure,
  ): Promise<void> {
    partition.append = { at: 'settling', request };
    return untilSettled(this.#options, partition, { request, ended, refusal }, ({ verdict, reading }) =>
      this.#apply(partition, request, verdict, reading),
    );
  }

  #apply(
    partition: MirrorPartition,
    request: AppendRequest,
    verdict: ReadBackVerdict,
    reading: EndReading,
  ): void {
    partition.verifiedEpoch = reading.leaderEpoch;
    partition.turn += 1;
    switch (verdict.kind) {
      case 'done':
        partition.appended(request.to);
        break;
      case 'continue':
        partition.appended(verdict.at);
        break;
      case 'rewind':
        this.#rewind(partition, verdict.at);
        break;
      case 'resend':
        // REQUEST_TIMED_OUT and the like: not at once again, and not before the end was read once more: no probe proves
        // that the request can't land during the pause
        partition.verifiedEpoch = -1;
        this.#wait(partition, partition.appendError ?? 'append had no effect');
        return;
      case 'failed':
        this.#options.fail(partition, verdict.failure);
        return;
      default:
        verdict satisfies never;
    }
    this.#idle(partition);
  }

  /** Rule 8: the end is read at every leader epoch before the first append in it. */
  async verifyEnd(partition: MirrorPartition): Promise<void> {
    partition.append = PREPARING;
    try {
      await this.#readEnd(partition);
      if (!partition.closed) this.#idle(partition);
    } catch (error) {
      this.#endedBy(partition, error);
    }
  }

  /** Reads the end while nothing is in progress; fails or rewinds the partition when it isn't ours. */
  async #readEnd(partition: MirrorPartition): Promise<void> {
    const reading = await this.#options.ends.read(partition.ref, {
      topicId: partition.resume.destinationTopicId,
      signal: this.#options.signalOf(partition),
      onWait: (why) => {
        partition.appendError = why;
      },
    });
    if (partition.closed) return;
    if (reading.end > partition.end) await takeWhatIsOurs(this.#options, partition, reading);
    if (partition.closed) return;
    partition.verifiedEpoch = reading.leaderEpoch;
    partition.appendError = null;
    const judged = judgeIdleEnd(partition.ref, partition.end, reading.end);
    if (judged === 'shorter') this.#rewind(partition, reading.end);
    else if (judged !== 'same') this.#options.fail(partition, judged.failure);
  }

  async #beginEpoch(partition: MirrorPartition, piece: Piece): Promise<void> {
    partition.append = PREPARING;
    partition.appendError = `source epoch ${piece.epoch} is being written to state`;
    const start = { epoch: piece.epoch, offset: piece.offset };
    try {
      await this.#options.hooks.epochBegins(partition.ref, start);
      if (partition.closed) return;
      partition.epochBegan(start);
      this.#idle(partition);
    } catch (error) {
      if (!partition.closed)
        this.#wait(partition, `source epoch ${piece.epoch} not written to state: ${textOf(error)}`);
    }
  }

  /** The destination lost what it had acknowledged: told at once, and to state before anything is appended again. */
  #rewind(partition: MirrorPartition, to: number): void {
    tellLost(this.#options.mirror, partition.ref, { from: to, to: partition.end });
    partition.rewindTo(to, partition.end);
  }

  async #tellLoss(partition: MirrorPartition): Promise<void> {
    const { lost, openIds } = partition;
    partition.append = PREPARING;
    partition.appendError = 'what the destination lost is being written to state';
    try {
      if (lost !== null) await this.#options.hooks.rewound?.(partition.ref, lost, openIds);
      if (partition.closed) return;
      partition.mustTellLoss = false;
      this.#idle(partition);
    } catch (error) {
      if (!partition.closed)
        this.#wait(partition, `what the destination lost is not written to state: ${textOf(error)}`);
    }
  }

  #refetch(partition: MirrorPartition, request: AppendRequest, error: string): void {
    partition.corruptReplies += 1;
    if (partition.corruptReplies > CORRUPT_TRIES) {
      const message = `${nameOf(partition.ref)}: the batch at source offset ${request.from} was refused as corrupt (${error}) after ${CORRUPT_TRIES} new fetches; it is damaged at the source`;
      this.#options.fail(partition, linkFailure('bad-batch', message, request.from));
      return;
    }
    partition.refetchFrom(request.from);
    this.#wait(partition, error);
  }

  async #raiseLimit(partition: MirrorPartition, request: AppendRequest): Promise<void> {
    const { bytes } = partition.queue.head as DataPiece;
    partition.append = PREPARING;
    const outcome = await this.#topicLimits.raise(partition, request.from, bytes.length);
    if (partition.closed) return;
    if (typeof outcome === 'string') this.#wait(partition, outcome);
    else this.#options.fail(partition, outcome);
  }

  #idle(partition: MirrorPartition): void {
    partition.append = IDLE;
    partition.appendError = null;
    partition.appendFaults = 0;
    this.#tellIdle(partition);
    this.#options.wantsMore(partition);
    this.kick(partition);
  }

  /** Not appended and nothing open: again after a pause, with fresh metadata. */
  #wait(partition: MirrorPartition, why: string): void {
    if (partition.closed) return;
    partition.append = WAITING;
    partition.appendError = why;
    const { backoffMs, maxBackoffMs } = this.#options.settings;
    const ms = backoff(backoffMs, maxBackoffMs, partition.appendFaults);
    partition.appendFaults += 1;
    if (partition.heldBack) partition.holdBack();
    this.#tellIdle(partition);
    void this.#comeBack(partition, ms);
  }

  async #comeBack(partition: MirrorPartition, ms: number): Promise<void> {
    try {
      await pause(ms, this.#options.signalOf(partition));
      await this.#options.destination.refresh([partition.ref.topic]);
    } catch (error) {
      if (error instanceof GivenUpError) return;
      if (!partition.closed) this.#wait(partition, textOf(error));
      return;
    }
    if (partition.closed) return;
    partition.append = IDLE;
    this.#options.wantsMore(partition);
    this.kick(partition);
  }

  #tellIdle(partition: MirrorPartition): void {
    if (partition.onIdle.length === 0) return;
    const waiting = partition.onIdle;
    partition.onIdle = [];
    for (const tell of waiting) tell();
  }

  #endedBy(partition: MirrorPartition, error: unknown): void {
    if (partition.closed || error instanceof GivenUpError) return;
    if (error instanceof LinkFailureError) this.#options.fail(partition, error.failure);
    else this.#wait(partition, textOf(error));
  }

  /** Its end is read before the next append, as in a new leader epoch, of which metadata may not know yet. */
  #readAgainAt(nodeId: number): void {
    const { destination } = this.#options;
    for (const partition of this.#options.partitions()) {
      const leader = destination.leaderOf(partition.ref.topic, partition.ref.partition);
      if (leader?.nodeId === nodeId && partition.request === null) partition.verifiedEpoch = -1;
    }
  }
}
