import { nameOf, range } from './failure.ts';
import { OpenTransactions } from './open-transactions.ts';
import { PieceQueue } from './piece-queue.ts';
import type { AppendSpan } from './judge.ts';
import type {
  EpochStart,
  LinkFailure,
  LinkProgress,
  OffsetSpan,
  PartitionRef,
  ResumePoint,
  SettledBy,
} from './ports.ts';
import type { Piece } from './pieces.ts';

/**
 * One mirrored partition: what is known of both ends, what is queued, and where its one append stands.
 *
 *     idle ──▶ offered ──▶ sent ──▶ idle                    the round of a healthy partition
 *       │         ▲          │
 *       │         │          ├──▶ settling ──▶ idle         outcome open: look, probe (rules 5 and 7)
 *       ├──▶ preparing ──────┘                               end read at a new leader epoch, epoch written to state
 *       └──▶ waiting ──▶ idle                                back-off after a passing error
 *
 *     any ──▶ closed                                         failed or removed; never left again
 */
export type AppendState =
  | { readonly at: 'idle' }
  | { readonly at: 'offered' }
  | { readonly at: 'preparing' }
  | { readonly at: 'waiting' }
  | { readonly at: 'sent'; readonly request: AppendRequest }
  | { readonly at: 'settling'; readonly request: AppendRequest }
  | { readonly at: 'closed' };

/** What was sent and not answered yet. The pieces stay at the head of the queue until it is settled. */
export interface AppendRequest extends AppendSpan {
  readonly nodeId: number;
  /** Monotonic ms. */
  readonly sentAt: number;
}

const SILENCE_SHOWS_MS = 3_000;

export const IDLE: AppendState = { at: 'idle' };
export const OFFERED: AppendState = { at: 'offered' };
export const PREPARING: AppendState = { at: 'preparing' };
export const WAITING: AppendState = { at: 'waiting' };
export const CLOSED: AppendState = { at: 'closed' };

export class MirrorPartition {
  readonly ref: PartitionRef;
  readonly resume: ResumePoint;
  readonly queue = new PieceQueue();

  phase: LinkProgress['phase'] = 'recovering';
  append: AppendState = IDLE;
  /** The append whose outcome was open when the partition was closed. */
  abandoned: AppendRequest | null = null;
  /** Known end of the destination, all of it ours; -1 until recovered. */
  end = -1;
  /** Destination leader epoch in which `end` was last read, -1: none. */
  verifiedEpoch = -1;
  /** Raised by each append and each read that changes `end`: a watcher sees that it was overtaken. */
  turn = 0;
  settledBy: SettledBy = 'none-needed';

  /** Next source offset to be fetched, and leader epoch of the batch before it. */
  fetchOffset = 0;
  fetchEpoch = -1;
  /** Raised when what is fetched meanwhile must be dropped. */
  fetchRound = 0;
  fetching = false;
  /** Not fetched before this monotonic time. */
  fetchAfter = 0;
  fetchFaults = 0;
  damagedFetches = 0;
  /** Monotonic time since which the head of the queue is the head. */
  headSince = 0;
  /**
   * It could not be appended for long and its queue was let go: nothing is fetched until an append may be tried, and
   * nothing is kept when that fails again. Ends with the next append that succeeds.
   */
  heldBack = false;
  /** The queue is being compared with the log: nothing of it may go. */
  compared = false;
  /** Nothing may follow what is queued. */
  stopAtEnd: LinkFailure | null = null;
  failure: LinkFailure | null = null;

  sourceHighWatermark = -1;
  sourceLastStableOffset = -1;
  sourceSeenAt: number | null = null;
  /** Leader epoch of the last appended batch. */
  lastSourceEpoch = -1;
  fetchError: string | null = null;
  appendError: string | null = null;
  appendFaults = 0;
  corruptReplies = 0;
  /** Tries of the head since it was found too large for its topic. */
  raises = 0;
  unverified: OffsetSpan | null = null;
  /** What the destination lost and doesn't hold again yet. */
  lost: OffsetSpan | null = null;
  /** State must learn of `lost` before the next append. */
  mustTellLoss = false;
  onIdle: (() => void)[] = [];

  readonly #open: OpenTransactions;
  readonly #epochs: EpochStart[];
  readonly counts = {
    dataBatches: 0,
    dataBytes: 0,
    commitMarkers: 0,
    inertMarkers: 0,
    barriers: 0,
    rebuiltBatches: 0,
  };

  constructor(ref: PartitionRef, resume: ResumePoint) {
    this.ref = ref;
    this.resume = resume;
    this.#epochs = [...resume.epochs];
    this.#open = new OpenTransactions(resume.openIds);
  }

  get closed(): boolean {
    return this.append.at === 'closed';
  }

  /** The append that has no known outcome yet, or null. */
  get request(): AppendRequest | null {
    return this.append.at === 'sent' || this.append.at === 'settling' ? this.append.request : null;
  }

  /**
   * Nothing more is done with the partition. Batches of a request that was not answered stay untouched until its
   * connection has answered or ended: the system may still be reading them (case C13).
   */
  close(): void {
    const unanswered = this.append.at === 'sent' ? this.append.request : null;
    this.abandoned ??= this.request;
    this.append = CLOSED;
    this.phase = 'ended';
    this.fetchRound += 1;
    if (unanswered === null) this.queue.clear();
    else this.queue.cutAt(unanswered.to);
  }

  /** The request that was in progress at `close` has been answered, or its connection has ended. */
  requestEnded(): void {
    this.queue.clear();
  }

  /**
   * Whether state must learn of this source leader epoch before its first append. Of a partition that was never
   * appended to, any epoch, also -1: no epoch in state means that nobody's append can be on its way.
   */
  mustBegin(epoch: number): boolean {
    const known = this.#epochs.at(-1);
    return known === undefined || epoch > known.epoch;
  }

  epochBegan(start: EpochStart): void {
    if (this.mustBegin(start.epoch)) this.#epochs.push(start);
  }

  /** Source leader epoch of the batch before `offset`, -1 when not known. */
  epochBefore(offset: number): number {
    return this.#epochs.findLast((start) => start.offset < offset)?.epoch ?? -1;
  }

  get openIds(): bigint[] {
    return this.#open.ids();
  }

  /** The destination's log ends at `end`, below `known`: all behind it is mirrored again. */
  rewindTo(end: number, known: number): void {
    this.lost = { from: end, to: Math.max(known, this.lost?.to ?? known) };
    this.mustTellLoss = true;
    this.end = end;
    this.turn += 1;
    this.#open.cutAt(end);
    this.refetchFrom(end);
  }

  /** Forgets what is fetched and begins again at `offset`. */
  refetchFrom(offset: number): void {
    this.queue.clear();
    this.fetchRound += 1;
    this.fetchOffset = offset;
    this.fetchEpoch = this.epochBefore(offset);
    this.stopAtEnd = null;
  }

  /** Forgets what is fetched behind `offset`, an edge of the queue, and fetches it anew. */
  dropBehind(offset: number): void {
    this.queue.cutAt(offset);
    this.fetchRound += 1;
    this.fetchOffset = offset;
    this.fetchEpoch = this.epochBefore(offset);
    this.stopAtEnd = null;
  }

  /** Pieces up to `offset` stand at the destination: count them and let them go. */
  appended(offset: number): void {
    this.turn += 1;
    for (let i = 0; ; i += 1) {
      const piece = this.queue.at(i);
      if (piece === undefined || piece.offset >= offset) break;
      this.#count(piece, Math.min(piece.next, offset));
    }
    this.end = offset;
    if (this.lost !== null && offset >= this.lost.to) this.lost = null;
    this.heldBack = false;
    this.headSince = performance.now();
    this.queue.advance(offset);
  }

  /** Gives the memory of all that is queued to others; it is fetched again when it can be appended. */
  holdBack(): void {
    if (this.compared) return;
    this.heldBack = true;
    this.refetchFrom(this.end);
  }

  /** A piece that was appended before this run: known, but not counted. */
  foundStored(piece: Piece): void {
    if (piece.epoch > this.lastSourceEpoch) this.lastSourceEpoch = piece.epoch;
    this.#open.stored(piece);
  }

  #count(piece: Piece, next: number): void {
    this.foundStored(piece);
    switch (piece.kind) {
      case 'data':
        this.counts.dataBatches += 1;
        this.counts.dataBytes += piece.bytes.length;
        break;
      case 'commit':
        this.counts.commitMarkers += 1;
        break;
      case 'barrier':
        this.counts.barriers += 1;
        break;
      case 'inert':
        this.counts.inertMarkers += next - piece.offset;
        break;
      default:
        piece satisfies never;
    }
  }

  progress(now: number): LinkProgress {
    const request = this.request;
    return {
      phase: this.phase,
      sourceHighWatermark: this.sourceHighWatermark,
      sourceLastStableOffset: this.sourceLastStableOffset,
      sourceSeenAt: this.sourceSeenAt,
      destinationEnd: this.end,
      lastSourceEpoch: this.lastSourceEpoch >= 0 ? this.lastSourceEpoch : this.epochBefore(this.end),
      error:
        this.failure?.message ?? this.appendError ?? silence(request, now) ?? this.fetchError ?? lossOf(this),
      requestAgeMs: request === null ? 0 : Math.max(0, now - request.sentAt),
      settledBy: this.settledBy,
      counts: { ...this.counts },
      openIds: this.openIds,
      unverified: this.unverified,
      lost: this.lost,
    };
  }
}

function lossOf({ ref, lost }: MirrorPartition): string | null {
  if (lost === null) return null;
  return `${nameOf(ref)}: the destination lost ${range(lost.from, lost.to)} (unclean election, or a disk that was wiped); it is mirrored again`;
}

/** A request on its way for long is no error yet, but whoever wonders why nothing moves is told. */
function silence(request: AppendRequest | null, now: number): string | null {
  if (request === null || now - request.sentAt < SILENCE_SHOWS_MS) return null;
  const seconds = Math.round((now - request.sentAt) / 1000);
  return `broker ${request.nodeId} has not answered an append of ${range(request.from, request.to)} for ${seconds} s; it is waited for`;
}
