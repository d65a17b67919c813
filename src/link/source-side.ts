import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { aclCommand } from '../net/acl-command.ts';
import type { Cluster } from '../net/cluster.ts';
import { linkFailure, nameOf } from './failure.ts';
import { Fetcher, type FetchEntry } from './fetcher.ts';
import type { Frame, FramePool } from './frame-pool.ts';
import type { MirrorPartition } from './partition.ts';
import { backoff } from './pause.ts';
import type { LinkFailure } from './ports.ts';
import { RateLimit } from './rate-limit.ts';
import { askRange, diverged, outOfRange } from './source-range.ts';
import type { LinkSettings } from './settings.ts';
import { GONE_AFTER_MS, TopicGoneError, knownTopic, recreated, whyNoLeader } from './topic-identity.ts';
import { transform } from './transform.ts';
import { textOf } from '../net/error-text.ts';

export interface SourceHooks {
  /** Pieces were queued, or `stopAtEnd` was set. */
  queued(partition: MirrorPartition): void;
}

/** Faults of a partition in a row after which every broker is asked who leads it. */
const ASK_ALL_AFTER = 3;
/** New fetches of a batch that can't be read before the source's log counts as damaged. */
const DAMAGED_TRIES = 3;
const NO_ABORTED: [] = [];

/**
 * The source half of a link: each partition is fetched from its leader, outages and moved leaders become a passing
 * error with back-off, and what can't be mirrored stops the partition behind all that could (`stopAtEnd`).
 */
export class SourceSide {
  readonly #source: Cluster;
  readonly #mirror: string;
  readonly #settings: LinkSettings;
  readonly #pool: FramePool;
  readonly #rate: RateLimit;
  readonly #hooks: SourceHooks;
  readonly #fetchers = new Map<string, Fetcher>();
  readonly #routes = new Map<MirrorPartition, Fetcher | null>();
  readonly #goneSince = new Map<string, number>();
  readonly #lost = new Set<MirrorPartition>();
  #timer: NodeJS.Timeout | null = null;
  #faults = 0;
  #closed = false;

  constructor(source: Cluster, mirror: string, settings: LinkSettings, pool: FramePool, hooks: SourceHooks) {
    this.#source = source;
    this.#mirror = mirror;
    this.#settings = settings;
    this.#pool = pool;
    this.#rate = new RateLimit(settings.maxBytesPerSecond);
    this.#hooks = hooks;
  }

  /** Begins to fetch from `partition.fetchOffset` on. */
  add(partition: MirrorPartition): void {
    this.#routes.set(partition, null);
    // whatever is known may be old: the topic's id is looked at before the first byte
    this.#lost.add(partition);
    this.#refreshSoon(0);
  }

  remove(partition: MirrorPartition): void {
    this.#routes.get(partition)?.remove(partition);
    this.#routes.delete(partition);
    this.#lost.delete(partition);
  }

  /** The partition's queue has room again. */
  nudge(partition: MirrorPartition): void {
    this.#routes.get(partition)?.nudgeFor(partition);
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const fetcher of this.#fetchers.values()) fetcher.close();
    this.#fetchers.clear();
    this.#routes.clear();
    this.#lost.clear();
  }

  #received(partition: MirrorPartition, entry: FetchEntry, frame: Frame): void {
    if (entry.errorCode !== ErrorCode.NONE) {
      this.#refused(partition, entry.errorCode);
      return;
    }
    if (entry.divergingEpoch.endOffset >= 0) {
      this.#parted(partition, entry.divergingEpoch.endOffset);
      return;
    }
    // it fails already: what came meanwhile may be of a topic made anew
    if (partition.stopAtEnd !== null) return;
    partition.sourceHighWatermark = entry.highWatermark;
    partition.sourceLastStableOffset = entry.lastStableOffset;
    partition.sourceSeenAt = Date.now();
    const { records } = entry;
    if (records === null || records.length === 0) {
      this.#wentWell(partition);
      return;
    }
    const done = transform(partition.ref, {
      records,
      aborted: entry.abortedTransactions ?? NO_ABORTED,
      next: partition.fetchOffset,
      frame,
    });
    if (done.pieces.length === 0 && done.failure === null) {
      // a broker gives the first batch whole, so its length field is damaged, or this is no Kafka
      const what = `${nameOf(partition.ref)}: the source's ${records.length} bytes at offset ${partition.fetchOffset} hold no whole batch; check the source log with kafka-dump-log.sh`;
      this.#setBack(partition, what);
      return;
    }
    const again = done.failure?.code === 'bad-batch' && partition.damagedFetches < DAMAGED_TRIES;
    if (again) {
      // damaged on the way, perhaps: what stands before it is good
      partition.damagedFetches += 1;
      this.#setBack(partition, done.failure?.message ?? '');
    } else {
      this.#wentWell(partition);
      partition.damagedFetches = 0;
      partition.stopAtEnd = done.failure;
    }
    if (done.pieces.length > 0) {
      if (partition.queue.length === 0) partition.headSince = performance.now();
      partition.fetchOffset = done.next;
      partition.fetchEpoch = done.epoch;
      partition.queue.push(done.pieces);
    }
    if (done.pieces.length > 0 || partition.stopAtEnd !== null) this.#hooks.queued(partition);
  }

  #wentWell(partition: MirrorPartition): void {
    partition.fetchFaults = 0;
    partition.fetchError = null;
  }

  #refused(partition: MirrorPartition, code: number): void {
    const what = `source: ${errorName(code)}`;
    switch (code) {
      case ErrorCode.OFFSET_OUT_OF_RANGE:
        void this.#judgeRange(partition, partition.fetchRound);
        return;
      case ErrorCode.TOPIC_AUTHORIZATION_FAILED: {
        const message = `${nameOf(partition.ref)}: the source refused Fetch with ${errorName(code)}; grant READ and DESCRIBE on the topic: ${aclCommand(['READ', 'DESCRIBE'], `--topic '${partition.ref.topic}'`)}`;
        this.#stop(partition, linkFailure('authorization', message, partition.fetchOffset, true));
        return;
      }
      default:
        this.#setBack(partition, what);
        this.#lose([partition]);
    }
  }

  /** OFFSET_OUT_OF_RANGE: below the log start retention overtook us, anywhere else the log is another one. */
  async #judgeRange(partition: MirrorPartition, round: number): Promise<void> {
    this.#setBack(partition, 'source: OFFSET_OUT_OF_RANGE');
    const { ref, fetchOffset } = partition;
    try {
      const { start, end } = await askRange(this.#source, ref, this.#settings.readBackTimeoutMs);
      if (this.#routes.has(partition) && partition.fetchRound === round) {
        this.#stop(partition, outOfRange(partition, fetchOffset, start, end));
      }
    } catch (error) {
      partition.fetchError = textOf(error);
    }
  }

  #unreachable(partitions: readonly MirrorPartition[], why: string): void {
    for (const partition of partitions) this.#setBack(partition, why);
    this.#lose(partitions);
  }

  #setBack(partition: MirrorPartition, why: string): void {
    partition.fetchError = why;
    const { backoffMs, maxBackoffMs } = this.#settings;
    partition.fetchAfter = performance.now() + backoff(backoffMs, maxBackoffMs, partition.fetchFaults);
    partition.fetchFaults += 1;
  }

  /**
   * The source's log is another one than that of the last fetch. What was fetched and not sent is dropped and asked for
   * anew: only when the log has parted from what stands at the destination is the copy wrong.
   */
  #parted(partition: MirrorPartition, endOffset: number): void {
    const { request, fetchOffset } = partition;
    const appended = request?.to ?? partition.end;
    if (fetchOffset <= appended) {
      this.#stop(partition, diverged(partition, endOffset));
      return;
    }
    this.#setBack(
      partition,
      `${nameOf(partition.ref)}: the source's log has parted at ${endOffset} (unclean election)`,
    );
    // being compared with the log: the next answer says the same
    if (!partition.compared) partition.dropBehind(appended);
  }

  /** All that is queued is still appended; then the partition fails. */
  #stop(partition: MirrorPartition, failure: LinkFailure): void {
    partition.stopAtEnd ??= failure;
    this.#hooks.queued(partition);
  }

  /** These need fresh metadata before they are fetched on. */
  #lose(partitions: readonly MirrorPartition[]): void {
    for (const partition of partitions) if (this.#routes.has(partition)) this.#lost.add(partition);
    this.#refreshSoon(backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, this.#faults));
  }

  #refreshSoon(ms: number): void {
    if (this.#closed || this.#timer !== null) return;
    this.#timer = setTimeout(() => void this.#refresh(), ms);
  }

  async #refresh(): Promise<void> {
    const lost = [...this.#lost];
    this.#lost.clear();
    let why: string | null = null;
    try {
      const topics = [...new Set(lost.map((partition) => partition.ref.topic))];
      await this.#source.refresh(topics);
      // the one broker that was asked may be cut off: since before the leader moved, or before the topic was made
      if (lost.some((partition) => partition.fetchFaults >= ASK_ALL_AFTER || !this.#isKnown(partition))) {
        await this.#source.leaderEpochFromAll(topics, this.#settings.readBackTimeoutMs);
      }
    } catch (error) {
      why = textOf(error);
      // gone is what is told to be gone all the time
      this.#goneSince.clear();
    }
    this.#timer = null;
    if (this.#closed) return;
    this.#faults = why === null ? 0 : this.#faults + 1;
    for (const partition of lost) {
      if (!this.#routes.has(partition)) continue;
      if (why === null) {
        this.#route(partition);
      } else {
        partition.fetchError = why;
        this.#lost.add(partition);
      }
    }
    if (this.#lost.size > 0) {
      this.#refreshSoon(backoff(this.#settings.backoffMs, this.#settings.maxBackoffMs, this.#faults + 1));
    }
  }

  #isKnown({ ref, resume }: MirrorPartition): boolean {
    try {
      return knownTopic(this.#source, ref, resume.sourceTopicId).errorCode === ErrorCode.NONE;
    } catch {
      return false;
    }
  }

  #route(partition: MirrorPartition): void {
    const { ref, resume } = partition;
    const topic = this.#source.topic(ref.topic);
    if (topic === undefined || topic.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) {
      this.#gone(partition);
      return;
    }
    this.#goneSince.delete(ref.topic);
    if (topic.errorCode === 0 && topic.topicId !== resume.sourceTopicId) {
      this.#stop(partition, recreated(ref, this.#source.name, resume.sourceTopicId, topic.topicId));
      return;
    }
    const leader = this.#source.leaderOf(ref.topic, ref.partition);
    const known = this.#routes.get(partition) ?? null;
    if (leader === undefined) {
      partition.fetchError = whyNoLeader(this.#source, ref);
      known?.remove(partition);
      this.#routes.set(partition, null);
      this.#lost.add(partition);
      return;
    }
    const fetcher = this.#fetcherFor(leader.nodeId, ref.partition);
    if (known === fetcher) {
      fetcher.nudge();
      return;
    }
    known?.remove(partition);
    this.#routes.set(partition, fetcher);
    fetcher.add(partition);
  }

  /** A topic just made or a broker just started may not know it yet: only what stays unknown is gone. */
  #gone(partition: MirrorPartition): void {
    const { topic } = partition.ref;
    const now = performance.now();
    const since = this.#goneSince.get(topic) ?? now;
    this.#goneSince.set(topic, since);
    const error = new TopicGoneError(partition.ref, this.#source.name);
    if (now - since > GONE_AFTER_MS) {
      this.#stop(partition, error.asFailure('source-topic-gone').failure);
      return;
    }
    partition.fetchError = error.message;
    this.#lost.add(partition);
  }

  #fetcherFor(nodeId: number, partition: number): Fetcher {
    const lane = `fetch-${partition % this.#settings.fetchers}:${this.#mirror}`;
    const key = `${nodeId}/${lane}`;
    let fetcher = this.#fetchers.get(key);
    if (fetcher === undefined) {
      fetcher = new Fetcher(nodeId, lane, {
        cluster: this.#source,
        settings: this.#settings,
        pool: this.#pool,
        rate: this.#rate,
        hooks: {
          received: (one, entry, frame) => this.#received(one, entry, frame),
          unreachable: (partitions, why) => this.#unreachable(partitions, why),
        },
        fetchers: () => this.#fetchers.size,
      });
      this.#fetchers.set(key, fetcher);
    }
    return fetcher;
  }
}
