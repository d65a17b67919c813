import { randomUUID } from 'node:crypto';
import type { Freshness } from '../../gateway/ports.ts';
import type { Cluster } from '../../net/cluster.ts';
import { lifecycle } from '../../observe/channels.ts';
import { type Clock, systemClock } from './clock.ts';
import { encodeRecord } from './codec.ts';
import { CommandLoop } from './command-loop.ts';
import { CommandClient } from './command-client.ts';
import { COMMAND_LANE } from './command-producer.ts';
import { keyText, statePartitionOf } from './keys.ts';
import { LEASE_MS, Lease } from './lease.ts';
import { OldResults } from './old-results.ts';
import { OwnerWriters } from './owner-writers.ts';
import { PlacedEntries, endsByHome } from './placed-entries.ts';
import { StateClosed, pause } from './retry.ts';
import { FETCH_LANE, StateReader } from './state-reader.ts';
import { type StateTopicSettings, ensureStateTopic } from './state-topic.ts';
import { producerLanes } from './transactional-producer.ts';
import {
  type CommandHandler,
  type NewCommand,
  type OwnerRecord,
  type ResultRecord,
  type StateChange,
  type StateRecord,
  type StateStore,
  StateUnusable,
  type StateView,
  type Stored,
  type ViewChange,
} from './types.ts';
import { ReplayedView } from './view.ts';

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
  readonly clock?: Clock;
}

const OPEN_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 1_000;
const TICK_MS = 250;
/** Far below transactional.id.expiration.ms and producer.id.expiration.ms, so that idle ids are never forgotten. */
const KEEP_ALIVE_MS = 3_600_000;
const WARN_EVERY_MS = 30_000;

/**
 * The state of one destination: what its state topic says, written by one owner at a time.
 *
 *     open:  topic ▶ InitProducerId of id 0, then of all (older instance fenced) ▶ read until LSO = HW = position by
 *            fetches sent after that ▶ owner records with our incarnation ▶ heartbeat
 *     write: group commit per state partition ▶ read back ▶ the view shows it
 *     close: owner records released with the exact ends
 */
export class TopicStateStore implements StateStore {
  readonly view: StateView;
  readonly #view: ReplayedView;
  readonly #options: StateStoreOptions;
  readonly #clock: Clock;
  readonly #instanceId: string;
  readonly #abort = new AbortController();
  readonly #lease: Lease;
  readonly #oldResults: OldResults;
  readonly #listeners = new Set<(changes: readonly ViewChange[]) => void>();
  readonly #fencedListeners: ((error: Error) => void)[] = [];
  readonly #commands: CommandClient;
  #reader: StateReader | null = null;
  readonly #readerReady = Promise.withResolvers<StateReader>();
  #writers: OwnerWriters | null = null;
  #commandLoop: CommandLoop | null = null;
  #pending: ViewChange[] = [];
  #previousOwners: ReadonlyMap<number, Stored<OwnerRecord>> = new Map();
  #incarnation = 0;
  /** Why this process may write no more: another instance took over, or the state can't be followed. */
  #fenced: Error | null = null;
  #opened = false;
  #closing = false;
  #ticker: NodeJS.Timeout | null = null;
  #warnedAt = Number.NEGATIVE_INFINITY;
  readonly #leaseBegan = Promise.withResolvers<void>();

  constructor(options: StateStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#instanceId = options.instanceId ?? randomUUID();
    this.#view = new ReplayedView(options.settings.partitions);
    this.view = this.#view;
    this.#oldResults = new OldResults(this.#view);
    this.#lease = new Lease(this.#clock, options.leaseMs ?? LEASE_MS);
    const { cluster, settings } = options;
    this.#commands = new CommandClient(cluster, settings.topic, this.#instanceId, this.#abort.signal);
    this.#readerReady.promise.catch(() => undefined);
    this.#leaseBegan.promise.catch(() => undefined);
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  get previousOwners(): ReadonlyMap<number, Stored<OwnerRecord>> {
    return this.#previousOwners;
  }

  get fenced(): boolean {
    return this.#fenced !== null;
  }

  releasedEnd(topic: string, partition: number): number | null {
    const home = statePartitionOf(topic, partition, this.#options.settings.partitions);
    const owner = this.#previousOwners.get(home);
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
      const gap = this.#reader?.describeGap() ?? '';
      const why = [lastTrouble, gap].filter((text) => text !== '').join('; ');
      throw new StateUnusable(
        `state topic ${settings.topic} on ${cluster.name} was not ready within ${timeoutMs / 1000} s: ${why}`,
      );
    });
    try {
      await Promise.race([opening, late]);
      this.#opened = true;
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
        if (key === null) return;
        const change = this.#view.apply(partition, key.toString('utf8'), value);
        if (change !== undefined) this.#pending.push(change);
      },
      onBatchEnd: () => this.#publish(),
      // nothing may be decided, and nothing appended
      onFailed: (error) => this.#fence(error),
    });
    this.#reader = reader;
    this.#readerReady.resolve(reader);
    const settle = reader.hurry();
    reader.start();
    if (this.#options.observe === true) return reader.caughtUpSince(this.#clock().mono).finally(settle);
    const writers = new OwnerWriters({
      cluster,
      topic: settings.topic,
      partitions: settings.partitions,
      signal,
      clock: this.#clock,
      onTrouble: (why) => {
        onTrouble(why);
        this.#warn(why);
      },
      onFenced: (error) => this.#fence(error),
      // every state id was taken over by whoever fences us, id 0 first: that one's writes are the lease
      onCommitted: (partition, { sentAt }) => {
        if (partition === 0) this.#lease.acknowledge(sentAt);
      },
    });
    this.#writers = writers;
    const fencedAt = await writers.takeOver();
    await reader.caughtUpSince(this.#clock().mono).finally(settle);
    this.#previousOwners = new Map(this.#view.owners);
    this.#incarnation = 1 + Math.max(0, ...[...this.#view.owners.values()].map((owner) => owner.incarnation));
    await this.#writeOwners(() => ({ released: false, ends: {} }));
    const older = [...this.#previousOwners.values()].some((owner) => !owner.released);
    this.#lease.begin(older ? fencedAt : null);
    this.#leaseBegan.resolve();
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    lifecycle.publish({
      level: 'info',
      message: `state of ${cluster.name} is ours`,
      fields: { topic: settings.topic, incarnation: this.#incarnation, instance: this.#instanceId },
    });
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    if (!this.#opened) throw new StateClosed('the state store is not open');
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
      now: () => Date.now(),
      stopped: () => this.#closing || this.fenced || this.#writers === null,
    });
    this.#commandLoop.wake();
  }

  onChange(listener: (changes: readonly ViewChange[]) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  freshness(): Freshness {
    return this.#reader?.freshness() ?? 'loading';
  }

  async whenLoaded(): Promise<void> {
    const reader = await this.#readerReady.promise;
    await reader.caughtUpSince(Number.NEGATIVE_INFINITY);
  }

  onFenced(listener: (error: Error) => void): void {
    if (this.#fenced === null) this.#fencedListeners.push(listener);
    else listener(this.#fenced);
  }

  mayAppend(): boolean {
    return this.#lease.holds;
  }

  async whenMayAppend(): Promise<void> {
    await this.#leaseBegan.promise;
    await pause(this.#lease.startsIn ?? 0, this.#abort.signal);
    if (this.#fenced !== null) throw this.#fenced;
    if (this.#abort.signal.aborted) throw new StateClosed('the state store was closed');
  }

  async close(released?: ReadonlyMap<string, number>): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#ticker !== null) clearInterval(this.#ticker);
    if (this.#opened && this.#writers !== null && this.#fenced === null) {
      const timeout = new AbortController();
      const last = (async () => {
        await this.#commandLoop?.idle();
        this.#lease.end();
        if (released !== undefined) await this.#release(released);
      })();
      last.catch(() => undefined);
      await Promise.race([last.catch(() => undefined), pause(CLOSE_TIMEOUT_MS, timeout.signal)]);
      timeout.abort();
    }
    this.#shutDown(new StateClosed('the state store was closed'));
  }

  #release(released: ReadonlyMap<string, number>): Promise<void> {
    const ends = endsByHome(released, this.#options.settings.partitions);
    return this.#writeOwners((partition) => ({ released: true, ends: ends[partition] ?? {} }));
  }

  async #writeOwners(state: (partition: number) => Pick<OwnerRecord, 'released' | 'ends'>): Promise<void> {
    const numbers = Array.from({ length: this.#options.settings.partitions }, (_, partition) => partition);
    await this.#commit(
      [],
      numbers.map((partition) => this.#ownerRecord(partition, state(partition))),
    );
  }

  #ownerRecord(statePartition: number, state: Pick<OwnerRecord, 'released' | 'ends'>): OwnerRecord {
    const { released, ends } = state;
    return {
      kind: 'owner',
      statePartition,
      instanceId: this.#instanceId,
      incarnation: this.#incarnation,
      released,
      ends,
      at: Date.now(),
    };
  }

  /** One transaction per state partition; partition 0 after the others. Resolves when all is read back. */
  async #commit(
    changes: readonly StateChange[],
    records: readonly StateRecord[],
    tombstones: readonly string[] = [],
  ): Promise<void> {
    const writers = this.#writers;
    if (writers === null || this.#reader === null) {
      throw new StateClosed('this instance reads the state and does not own it');
    }
    const placed = new PlacedEntries(this.#options.settings.partitions, this.#incarnation);
    for (const change of changes) placed.change(change);
    for (const record of records) placed.record(record);
    for (const key of tombstones) placed.tombstone(key);
    const positions = await writers.commit(placed.byPartition);
    const reader = this.#reader;
    await Promise.all(positions.map(({ partition, lastOffset }) => reader.hasRead(partition, lastOffset)));
  }

  #publish(): void {
    const changes = this.#pending;
    if (changes.length === 0) return;
    this.#pending = [];
    this.#commands.take(changes);
    for (const listener of this.#listeners) listener(changes);
    if (this.view.commands.size > 0) this.#commandLoop?.wake();
  }

  /** Heartbeat, keep-alive of idle ids, old results. */
  #tick(): void {
    const writers = this.#writers;
    if (writers === null || this.#closing || this.fenced) return;
    const now = this.#clock();
    const state = { released: false, ends: {} };
    for (const partition of writers.idleFor(now, (index) => (index === 0 ? HEARTBEAT_MS : KEEP_ALIVE_MS))) {
      const record = this.#ownerRecord(partition, state);
      const entry = { key: keyText(record), value: encodeRecord(record, this.#incarnation) };
      // a refusal would be a fault of the topic's settings and shows at the next write of somebody who waits for it
      writers.heartbeat(partition, entry).catch(() => undefined);
    }
    const old = this.#oldResults.due(now);
    if (old.length > 0) this.#commit([], [], old).catch(() => undefined);
  }

  /** Writes that are tried again and again: said once the lease is gone, and then twice a minute. */
  #warn(why: string): void {
    if (!this.#opened || this.#lease.holds || this.#clock().mono - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = this.#clock().mono;
    lifecycle.publish({
      level: 'warn',
      message: `no state write was acknowledged for ${Math.round(this.#lease.age / 1000)} s, nothing is appended: ${why}`,
      fields: { topic: this.#options.settings.topic },
    });
  }

  #fence(error: Error): void {
    if (this.#fenced !== null) return;
    this.#fenced = error;
    this.#lease.end();
    this.#leaseBegan.reject(error);
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#writers?.fail(error);
    lifecycle.publish({ level: 'error', message: error.message, fields: { incarnation: this.#incarnation } });
    for (const listener of this.#fencedListeners.splice(0)) listener(error);
  }

  #shutDown(error: Error): void {
    this.#closing = true;
    this.#lease.end();
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#writers?.fail(error);
    this.#readerReady.reject(error);
    this.#leaseBegan.reject(error);
    this.#abort.abort();
    const { cluster } = this.#options;
    const lanes = [...producerLanes, FETCH_LANE, COMMAND_LANE];
    for (const { nodeId } of cluster.brokers()) {
      for (const lane of lanes) cluster.dropLane(nodeId, lane, 'the state store was closed');
    }
  }
}
