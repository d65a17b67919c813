import { randomUUID } from 'node:crypto';
import type { Freshness } from '../../gateway/ports.ts';
import type { Cluster } from '../../net/cluster.ts';
import { lifecycle } from '../../observe/channels.ts';
import { type Clock, type Instant, systemClock } from './clock.ts';
import { CommandLoop } from './command-loop.ts';
import { CommandClient } from './command-client.ts';
import { COMMAND_LANE } from './command-producer.ts';
import { FollowedView } from './followed-view.ts';
import { Homes } from './homes.ts';
import { keyOfChange, placementOf } from './keys.ts';
import { LEASE_MS } from './lease.ts';
import { Leases } from './leases.ts';
import { OldResults } from './old-results.ts';
import { Outages } from './outages.ts';
import { OwnerRecords } from './owner-records.ts';
import { OwnerWriters } from './owner-writers.ts';
import { GRACE_MS, Ownership } from './ownership.ts';
import { PlacedEntries } from './placed-entries.ts';
import { producerLanes } from './producer-requests.ts';
import { StateClosed, pause } from './retry.ts';
import { FETCH_LANE, StateReader } from './state-reader.ts';
import { type StateTopicSettings, ensureStateTopic } from './state-topic.ts';
import {
  type CommandHandler,
  type NewCommand,
  type OwnerRecord,
  type ResultRecord,
  StateAway,
  type StateChange,
  type StateRecord,
  type StateStore,
  StateUnusable,
  type StateView,
  type Stored,
  type ViewChange,
} from './types.ts';

export interface StateStoreOptions {
  /** The destination cluster, used through lanes of our own; it stays its caller's to close. */
  readonly cluster: Cluster;
  readonly settings: StateTopicSettings;
  /** Shown in the owner records; default a new UUID. */
  readonly instanceId?: string;
  /** true: read and submit only; nobody is fenced, `write` is refused, `mayAppend` is false. */
  readonly observe?: boolean;
  readonly leaseMs?: number;
  /** For `open` as a whole; default 60 s. */
  readonly openTimeoutMs?: number;
  /** State partitions other than 0 are waited for so long. */
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/** What an owner has beside the reader. */
interface Owner {
  readonly writers: OwnerWriters;
  readonly ownership: Ownership;
  readonly outages: Outages;
}

const OPEN_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 10_000;
/** The command in hand may wait for a state partition that is away. */
const COMMAND_END_MS = 3_000;
const HEARTBEAT_MS = 1_000;
/** When writes of partition 0 are so late, every other state partition's own heartbeat keeps what lives there going. */
const LATE_MS = 1_500;
const TICK_MS = 250;
/** Far below transactional.id.expiration.ms and producer.id.expiration.ms, so that idle ids are never forgotten. */
const KEEP_ALIVE_MS = 3_600_000;

/**
 * The state of one destination: what its state topic says, written by one owner at a time.
 *
 *     open:  topic ▶ every state partition is taken over and read (`Ownership`) ▶ heartbeat
 *     write: group commit per state partition ▶ read back ▶ the view shows it
 *     close: owner records released with the exact ends
 *
 * State partitions stand for themselves: one out of reach keeps waiting only what lives there (`outage`).
 */
export class TopicStateStore implements StateStore {
  readonly view: StateView;
  readonly #followed: FollowedView;
  readonly #options: StateStoreOptions;
  readonly #clock: Clock;
  readonly #instanceId: string;
  readonly #homes: Homes;
  readonly #abort = new AbortController();
  readonly #leases: Leases;
  readonly #oldResults: OldResults;
  readonly #fencedListeners: ((error: Error) => void)[] = [];
  readonly #commands: CommandClient;
  readonly #ownRecords: OwnerRecords;
  readonly #loaded = Promise.withResolvers<void>();
  #reader: StateReader | null = null;
  #owner: Owner | null = null;
  #commandLoop: CommandLoop | null = null;
  /** Why this process may write no more: another instance took over, or the state can't be followed. */
  #fenced: Error | null = null;
  #opened = false;
  #closing = false;
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: StateStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#instanceId = options.instanceId ?? randomUUID();
    const { cluster, settings } = options;
    this.#homes = new Homes(settings.partitions);
    this.#followed = new FollowedView(settings.partitions, (changes) => {
      this.#commands.take(changes);
      if (this.view.commands.size > 0) this.#commandLoop?.wake();
    });
    this.view = this.#followed.view;
    this.#oldResults = new OldResults(this.view);
    this.#leases = new Leases(this.#clock, settings.partitions, options.leaseMs ?? LEASE_MS);
    this.#commands = new CommandClient(cluster, settings.topic, this.#instanceId, this.#abort.signal);
    this.#ownRecords = new OwnerRecords({
      partitions: settings.partitions,
      instanceId: this.#instanceId,
      incarnation: () => this.incarnation,
      commit: (records) => this.#commit([], records),
    });
    this.#loaded.promise.catch(() => undefined);
  }

  get incarnation(): number {
    return this.#owner?.ownership.incarnation ?? 0;
  }

  get previousOwners(): ReadonlyMap<number, Stored<OwnerRecord>> {
    return this.#owner?.ownership.previousOwners ?? new Map();
  }

  get fenced(): boolean {
    return this.#fenced !== null;
  }

  releasedEnd(topic: string, partition: number): number | null {
    const owner = this.previousOwners.get(this.#homes.of(topic, partition));
    return owner?.released === true ? (owner.ends[`${topic}/${partition}`] ?? null) : null;
  }

  /**
   * @throws StateUnusable with the way out; StateFenced when a newer instance comes while we open; StateCodecError for
   *   records of a newer version
   */
  async open(): Promise<void> {
    const timeoutMs = this.#options.openTimeoutMs ?? OPEN_TIMEOUT_MS;
    let lastTrouble = '';
    const opening = this.#open((why) => {
      lastTrouble = why;
    });
    const timeout = new AbortController();
    const late = pause(timeoutMs, timeout.signal).then(() => {
      if (timeout.signal.aborted) return;
      const { settings, cluster } = this.#options;
      const gaps = this.#reader?.positions.gaps() ?? '';
      const why = [lastTrouble, gaps].filter((text) => text !== '').join('; ');
      throw new StateUnusable(
        `state topic ${settings.topic} on ${cluster.name} was not ready within ${timeoutMs / 1000} s: ${why}`,
      );
    });
    try {
      await Promise.race([opening, late]);
      this.#opened = true;
      this.#loaded.resolve();
    } catch (error) {
      opening.catch(() => undefined);
      this.#shutDown(error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      timeout.abort();
    }
  }

  async #open(onTrouble: (why: string) => void): Promise<void> {
    const { cluster, settings } = this.#options;
    const { signal } = this.#abort;
    const { topicId } = await ensureStateTopic(cluster, settings, signal);
    const reader = new StateReader({
      cluster,
      topic: settings.topic,
      topicId,
      partitions: settings.partitions,
      signal,
      clock: this.#clock,
      onRecord: (partition, { key, value }) => {
        if (key !== null) this.#followed.record(partition, key.toString('utf8'), value);
      },
      onBatchEnd: () => this.#followed.publish(),
      // nothing may be decided, and nothing appended
      onFailed: (error) => this.#fence(error),
    });
    this.#reader = reader;
    const settle = reader.hurry();
    reader.start();
    try {
      if (this.#options.observe === true) await this.#readAll(reader);
      else await this.#takeOver(reader, topicId, onTrouble);
    } finally {
      settle();
    }
  }

  /** An observer waits for all: it decides nothing, and nothing waits for it. */
  async #readAll(reader: StateReader): Promise<void> {
    await reader.positions.allCaughtUp(this.#clock().mono);
    for (let partition = 0; partition < this.#homes.count; partition++) this.#followed.reveal(partition);
  }

  async #takeOver(reader: StateReader, topicId: string, onTrouble: (why: string) => void): Promise<void> {
    const { cluster, settings, graceMs } = this.#options;
    const { signal } = this.#abort;
    const writers = new OwnerWriters({
      cluster,
      topic: settings.topic,
      partitions: settings.partitions,
      signal,
      clock: this.#clock,
      onTrouble,
      onFenced: (error) => this.#fence(error),
      onCommitted: (partition, { sentAt }) => this.#leases.acknowledge(partition, sentAt),
    });
    const ownership = new Ownership({
      topic: settings.topic,
      partitions: settings.partitions,
      reader,
      writers,
      leases: this.#leases,
      staged: this.#followed.staged,
      clock: this.#clock,
      signal,
      writeOwners: (partitions) => this.#ownRecords.claim(partitions),
      reveal: (partition) => this.#followed.reveal(partition),
      onFailed: (error) => this.#fence(error),
    });
    const outages = new Outages(settings, cluster.name, { reader, writers, ownership });
    this.#owner = { writers, ownership, outages };
    await ownership.open(graceMs ?? GRACE_MS);
    if (signal.aborted) return;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    lifecycle.publish({
      level: 'info',
      message: `state of ${cluster.name} is ours`,
      fields: {
        topic: settings.topic,
        topicId,
        incarnation: this.incarnation,
        instance: this.#instanceId,
      },
    });
    outages.tell();
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    if (!this.#opened) throw new StateClosed('the state store is not open');
    for (const change of changes) {
      const home = placementOf(keyOfChange(change), this.#homes.count);
      if (this.#followed.staged.holds(home))
        throw new StateAway(this.#outageOf(home) ?? 'it was not read yet');
    }
    await this.#commit(changes, []);
  }

  async submit(command: NewCommand): Promise<Stored<ResultRecord>> {
    await this.whenLoaded();
    return this.#commands.submit(command);
  }

  onCommand(handler: CommandHandler): void {
    if (this.#commandLoop !== null) throw new Error('the command handler is set once');
    this.#commandLoop = new CommandLoop({
      view: this.view,
      handler,
      begin: (command) => this.#commit([], [command]),
      finish: (changes, result) => this.#commit(changes, [result], [`command/${result.id}`]),
      discard: (id) => this.#commit([], [], [`command/${id}`]),
      now: () => this.#clock().wall,
      stopped: () => this.#closing || this.fenced || this.#owner === null,
    });
    this.#commandLoop.wake();
  }

  onChange(listener: (changes: readonly ViewChange[]) => void): () => void {
    return this.#followed.onChange(listener);
  }

  freshness(topic?: string, partition?: number): Freshness {
    if (!this.#opened) return 'loading';
    if (topic !== undefined && partition !== undefined)
      return this.#freshnessOf(this.#homes.of(topic, partition));
    const homes =
      topic === undefined
        ? Array.from({ length: this.#homes.count }, (_, home) => home)
        : this.#homes.ofTopic(topic, this.view.topics.get(topic)?.partitions ?? 0);
    const now = this.#clock();
    for (const home of homes) if (this.#freshnessOf(home, now) !== 'fresh') return 'stale';
    return 'fresh';
  }

  #freshnessOf(home: number, now: Instant = this.#clock()): Freshness {
    if (this.#followed.staged.holds(home)) return 'stale';
    return this.#reader?.positions.freshness(home, now) === 'fresh' ? 'fresh' : 'stale';
  }

  whenLoaded(): Promise<void> {
    return this.#loaded.promise;
  }

  outage(topic?: string, partition?: number): string | null {
    return this.#outageOf(
      topic === undefined || partition === undefined ? 0 : this.#homes.of(topic, partition),
    );
  }

  outages(): ReadonlyMap<number, string> {
    return this.#opened ? (this.#owner?.outages.all() ?? new Map()) : new Map();
  }

  #outageOf(home: number): string | null {
    return this.#opened ? (this.#owner?.outages.of(home) ?? null) : null;
  }

  onFenced(listener: (error: Error) => void): void {
    if (this.#fenced === null) this.#fencedListeners.push(listener);
    else listener(this.#fenced);
  }

  mayAppend(topic?: string, partition?: number): boolean {
    const home = topic === undefined || partition === undefined ? 0 : this.#homes.of(topic, partition);
    return this.#leases.holds(home) && this.#freshnessOf(home) === 'fresh';
  }

  async whenMayAppend(topic?: string, partition?: number): Promise<void> {
    await this.#loaded.promise;
    const ownership = this.#owner?.ownership;
    if (ownership === undefined) return new Promise(() => undefined);
    const homes =
      topic === undefined || partition === undefined ? ownership.owned : [this.#homes.of(topic, partition)];
    for (const home of homes) {
      await ownership.arrival(home);
      await pause(this.#leases.startsIn(home) ?? 0, this.#abort.signal);
    }
    if (this.#fenced !== null) throw this.#fenced;
    if (this.#abort.signal.aborted) throw new StateClosed('the state store was closed');
  }

  async close(released?: ReadonlyMap<string, number>): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#ticker !== null) clearInterval(this.#ticker);
    if (this.#opened && this.#owner !== null && this.#fenced === null) {
      const timeout = new AbortController();
      const last = (async () => {
        await Promise.race([this.#commandLoop?.idle(), pause(COMMAND_END_MS, timeout.signal)]);
        this.#leases.end();
        if (released !== undefined) await this.#ownRecords.release(this.#releasable(), released);
      })();
      last.catch(() => undefined);
      await Promise.race([last.catch(() => undefined), pause(CLOSE_TIMEOUT_MS, timeout.signal)]);
      timeout.abort();
    }
    this.#shutDown(new StateClosed('the state store was closed'));
  }

  /** In reach; and where the older owner's lease may still run, the next owner must wait for that as we did. */
  #releasable(): number[] {
    const owned = this.#owner?.ownership.owned ?? [];
    return owned.filter((home) => this.#outageOf(home) === null && this.#leases.startsIn(home) === 0);
  }

  /** One transaction per state partition; partition 0 after the others. Resolves when all is read back. */
  async #commit(
    changes: readonly StateChange[],
    records: readonly StateRecord[],
    tombstones: readonly string[] = [],
  ): Promise<void> {
    const writers = this.#owner?.writers;
    const positions = this.#reader?.positions;
    if (writers === undefined || positions === undefined) {
      throw new StateClosed('this instance reads the state and does not own it');
    }
    const placed = new PlacedEntries(this.#homes.count, this.incarnation);
    for (const change of changes) placed.change(change);
    for (const record of records) placed.record(record);
    for (const key of tombstones) placed.tombstone(key);
    const written = await writers.commit(placed.byPartition);
    await Promise.all(written.map(({ partition, lastOffset }) => positions.hasRead(partition, lastOffset)));
  }

  /** Heartbeats, keep-alive of idle ids, old results. */
  #tick(): void {
    if (this.#owner === null || this.#closing || this.fenced) return;
    const { writers, ownership, outages } = this.#owner;
    const now = this.#clock();
    const othersMs = this.#leases.age(0) > LATE_MS ? HEARTBEAT_MS : KEEP_ALIVE_MS;
    for (const partition of writers.idleFor(now, (index) => (index === 0 ? HEARTBEAT_MS : othersMs))) {
      if (!ownership.owns(partition)) continue;
      // a refusal would be a fault of the topic's settings and shows at the next write of somebody who waits for it
      writers.heartbeat(partition, this.#ownRecords.heartbeat(partition)).catch(() => undefined);
    }
    const old = this.#oldResults.due(now);
    if (old.length > 0) this.#commit([], [], old).catch(() => undefined);
    outages.tell();
  }

  #fence(error: Error): void {
    if (this.#fenced !== null) return;
    this.#fenced = error;
    this.#leases.end();
    this.#owner?.ownership.end(error);
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#owner?.writers.fail(error);
    lifecycle.publish({ level: 'error', message: error.message, fields: { incarnation: this.incarnation } });
    for (const listener of this.#fencedListeners.splice(0)) listener(error);
  }

  #shutDown(error: Error): void {
    this.#closing = true;
    this.#leases.end();
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#owner?.writers.fail(error);
    this.#owner?.ownership.end(error);
    this.#loaded.reject(error);
    this.#abort.abort();
    const { cluster } = this.#options;
    const lanes = [...producerLanes, FETCH_LANE, COMMAND_LANE];
    for (const { nodeId } of cluster.brokers()) {
      for (const lane of lanes) cluster.dropLane(nodeId, lane, 'the state store was closed');
    }
  }
}
