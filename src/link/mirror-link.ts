import type { Cluster } from '../net/cluster.ts';
import { Appender } from './appender.ts';
import { EndReader } from './end-reader.ts';
import { EndWatch } from './end-watch.ts';
import { LinkFailureError, linkFailure, nameOf, range } from './failure.ts';
import { isSilent } from './fetch-plan.ts';
import { FramePool } from './frame-pool.ts';
import { MirrorPartition } from './partition.ts';
import { GivenUpError, Limiter, backoff, pause } from './pause.ts';
import type { LinkFailure, LinkHooks, LinkProgress, PartitionRef, ResumePoint } from './ports.ts';
import { Prober } from './prober.ts';
import { recover } from './recovery.ts';
import { type LinkSettings, defaultLinkSettings } from './settings.ts';
import { Settler } from './settler.ts';
import { SourceSide } from './source-side.ts';
import { textOf } from '../net/error-text.ts';

export interface MirrorLinkOptions {
  /** Name of the mirror: its appends carry the transactional id `isthmus-<mirror>`. */
  readonly mirror: string;
  readonly source: Cluster;
  readonly destination: Cluster;
  readonly settings?: Partial<LinkSettings>;
  readonly hooks: LinkHooks;
}

export interface RemovedPartition {
  /** Exact destination end, all of it ours; null when it was never recovered, or failed. */
  readonly end: number | null;
  /** true: an append has no known outcome, so `end` is not exact and must not be released. */
  readonly inProgress: boolean;
  /** As it was when the partition left, with `openIds` of exactly this end; null for a partition that is not there. */
  readonly progress: LinkProgress | null;
}

interface Member {
  readonly partition: MirrorPartition;
  readonly abort: AbortController;
}

const COMPARISONS = 4;

/**
 * The data path of one mirror in produce mode. Control adds partitions with what it has persisted about them; the link
 * recovers each, fetches, transforms, appends, and tells how far it came. Memory: see `settings.ts`.
 */
export class MirrorLink {
  readonly #options: MirrorLinkOptions;
  readonly #settings: LinkSettings;
  readonly #members = new Map<string, Member>();
  readonly #pool: FramePool;
  readonly #ends: EndReader;
  readonly #prober: Prober;
  readonly #settler: Settler;
  readonly #appender: Appender;
  readonly #sourceSide: SourceSide;
  readonly #watch: EndWatch;
  readonly #limiter = new Limiter(COMPARISONS);
  readonly #tick: NodeJS.Timeout;
  #closed = false;

  constructor(options: MirrorLinkOptions) {
    this.#options = options;
    const settings = { ...defaultLinkSettings, ...options.settings };
    this.#settings = settings;
    const { destination, hooks, mirror, source } = options;
    this.#pool = new FramePool(settings.bufferBytes);
    this.#ends = new EndReader(destination, settings);
    this.#prober = new Prober(destination, settings);
    this.#settler = new Settler(destination, settings, this.#ends, this.#prober);
    this.#appender = new Appender({
      mirror,
      destination,
      settings,
      hooks,
      ends: this.#ends,
      settler: this.#settler,
      signalOf: (partition) => this.#signalOf(partition),
      fail: (partition, failure) => this.#fail(partition, failure),
      partitions: () => [...this.#members.values()].map(({ partition }) => partition),
      wantsMore: (partition) => this.#sourceSide.nudge(partition),
    });
    this.#sourceSide = new SourceSide(source, mirror, settings, this.#pool, {
      queued: (partition) => this.#appender.kick(partition),
    });
    this.#watch = new EndWatch(destination, settings, {
      moved: (partition) => void this.#readEndAgain(partition),
      stale: (topics) =>
        void destination.refresh(topics).then(
          () => this.#kickAll(),
          () => undefined,
        ),
    });
    this.#tick = setInterval(() => this.#onTick(), settings.endWatchMs);
    this.#tick.unref();
  }

  /** Recovers the partition (DESIGN 5.5 rule 9) and mirrors it; errors come by `hooks.failed` and `progress`. */
  add(ref: PartitionRef, resume: ResumePoint): void {
    if (this.#closed) throw new Error(`the link of mirror ${this.#options.mirror} is closed`);
    const key = keyOf(ref);
    if (this.#members.has(key)) throw new Error(`${nameOf(ref)} is mirrored by this link already`);
    const member = { partition: new MirrorPartition(ref, resume), abort: new AbortController() };
    this.#members.set(key, member);
    void this.#recover(member);
  }

  /**
   * Stops fetching, ends the append in progress (its reply, or look and probe), and drops all that is fetched and
   * undecided. Removing a partition that is not there gives `end: null`.
   * @throws LinkFailureError when an append stays unanswered for `silenceMs` (default 60 s), naming the broker; the
   * partition is dropped all the same
   */
  async remove(ref: PartitionRef, options: { silenceMs?: number } = {}): Promise<RemovedPartition> {
    const member = this.#members.get(keyOf(ref));
    if (member === undefined) return { end: null, inProgress: false, progress: null };
    const { partition } = member;
    this.#sourceSide.remove(partition);
    if (partition.phase === 'recovering') {
      const progress = partition.progress(performance.now());
      this.#drop(member);
      return { end: null, inProgress: false, progress };
    }
    if (partition.phase === 'mirroring') partition.phase = 'stopping';
    const { request } = partition;
    if (request !== null) await waitForIdle(partition, options.silenceMs ?? this.#settings.silenceMs);
    // another removal may have given up first
    const unanswered = partition.request ?? partition.abandoned;
    // what failed, perhaps only now, holds something that isn't ours or lost something that was
    const end = partition.end < 0 || partition.failure !== null ? null : partition.end;
    const progress = partition.progress(performance.now());
    this.#drop(member);
    if (unanswered === null || partition.failure !== null) return { end, inProgress: false, progress };
    throw new LinkFailureError(
      linkFailure(
        'refused-by-broker',
        `${nameOf(ref)}: broker ${unanswered.nodeId} of ${this.#options.destination.name} has not answered an append of ${range(unanswered.from, unanswered.to)} for ${Math.round((performance.now() - unanswered.sentAt) / 1000)} s${partition.appendError === null ? '' : ` (${partition.appendError})`}; wait for the broker, then stop again`,
        unanswered.from,
        true,
      ),
    );
  }

  progress(ref: PartitionRef): LinkProgress | undefined {
    return this.#members.get(keyOf(ref))?.partition.progress(performance.now());
  }

  /** Partitions of this link, failed ones included until they are removed. */
  partitions(): PartitionRef[] {
    return [...this.#members.values()].map(({ partition }) => partition.ref);
  }

  /**
   * Ends everything. @returns the exact end of each partition that has one, keyed `topic/partition`: only these may
   * be written as released. A partition whose append stays unanswered, or that was still recovering, is not in it.
   */
  async close(options: { silenceMs?: number } = {}): Promise<Map<string, number>> {
    this.#closed = true;
    clearInterval(this.#tick);
    const ends = new Map<string, number>();
    await Promise.all(
      [...this.#members].map(async ([key, { partition }]) => {
        const removed = await this.remove(partition.ref, options).catch(() => null);
        if (removed !== null && removed.end !== null) ends.set(key, removed.end);
      }),
    );
    this.#appender.close();
    this.#sourceSide.close();
    return ends;
  }

  async #recover({ partition, abort }: Member): Promise<void> {
    const { mirror, source, destination } = this.#options;
    const parts = {
      mirror,
      source,
      destination,
      settings: this.#settings,
      ends: this.#ends,
      settler: this.#settler,
      limiter: this.#limiter,
    };
    for (let faults = 0; ; faults += 1) {
      try {
        await recover(partition, parts, abort.signal);
        break;
      } catch (error) {
        if (partition.closed || error instanceof GivenUpError) return;
        if (error instanceof LinkFailureError) {
          this.#fail(partition, error.failure);
          return;
        }
        partition.appendError = textOf(error);
      }
      const { backoffMs, maxBackoffMs } = this.#settings;
      await pause(backoff(backoffMs, maxBackoffMs, faults), abort.signal).catch(() => undefined);
      if (partition.closed) return;
    }
    if (partition.closed) return;
    partition.phase = 'mirroring';
    this.#sourceSide.add(partition);
  }

  #fail(partition: MirrorPartition, failure: LinkFailure): void {
    if (partition.closed) return;
    partition.failure = failure;
    this.#sourceSide.remove(partition);
    partition.close();
    tellIdle(partition);
    try {
      this.#options.hooks.failed(partition.ref, failure);
    } catch {
      // the failure stands in the partition's progress; an append lane must not be left waiting over it
    }
  }

  #drop({ partition, abort }: Member): void {
    this.#members.delete(keyOf(partition.ref));
    partition.close();
    tellIdle(partition);
    abort.abort(new GivenUpError(`${nameOf(partition.ref)} was removed from the link`));
  }

  #signalOf(partition: MirrorPartition): AbortSignal {
    return (
      this.#members.get(keyOf(partition.ref))?.abort.signal ?? AbortSignal.abort(new GivenUpError('removed'))
    );
  }

  /** Rule 8 found another end under an idle partition: read it in full, then fail or rewind. */
  async #readEndAgain(partition: MirrorPartition): Promise<void> {
    if (partition.append.at === 'idle') await this.#appender.verifyEnd(partition);
    else this.#appender.lookAgain(partition);
  }

  #kickAll(): void {
    for (const { partition } of this.#members.values()) this.#appender.lookAgain(partition);
  }

  #onTick(): void {
    const now = performance.now();
    const partitions = [...this.#members.values()].map((member) => member.partition);
    if (this.#pool.wanted) this.#relieve(partitions, now);
    this.#watch.look(partitions);
    this.#prober.dropIdle();
  }

  /** Others need the memory of what can't be appended now: it is fetched again when it can be. */
  #relieve(partitions: readonly MirrorPartition[], now: number): void {
    for (const partition of this.#appender.stuck(partitions, now)) partition.holdBack();
    for (const partition of partitions) {
      if (!isSilent(partition, now, this.#settings)) continue;
      this.#letGoBehind(partition);
      this.#appender.detach(partition, this.#pool);
    }
  }

  /** A broker is silent: what is queued behind its request. */
  #letGoBehind(partition: MirrorPartition): void {
    const { request } = partition;
    const last = partition.queue.at(partition.queue.length - 1);
    if (request === null || last === undefined || last.next <= request.to) return;
    partition.dropBehind(request.to);
  }
}

function keyOf(ref: PartitionRef): string {
  return `${ref.topic}/${ref.partition}`;
}

function tellIdle(partition: MirrorPartition): void {
  const waiting = partition.onIdle;
  partition.onIdle = [];
  for (const tell of waiting) tell();
}

/** Until the partition has no append in progress, or the time is over. */
function waitForIdle(partition: MirrorPartition, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    partition.onIdle.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
