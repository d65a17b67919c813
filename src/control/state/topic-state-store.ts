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
import { producerLanes } from './producer-requests.ts';
import { StateClosed, pause } from './retry.ts';
import { StateOwner, type Written } from './state-owner.ts';
import { FETCH_LANE, StateReader } from './state-reader.ts';
import { type StateTopicSettings, ensureStateTopic } from './state-topic.ts';
import {
  type CommandHandler,
  type NewCommand,
  type OwnerRecord,
  type ResultRecord,
  StateAway,
  type StateChange,
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

const OPEN_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 10_000;
/** The command in hand may wait for a state partition that is away. */
const COMMAND_END_MS = 3_000;

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
  readonly #fencedListeners: ((error: Error) => void)[] = [];
  readonly #commands: CommandClient;
  readonly #loaded = Promise.withResolvers<void>();
  #reader: StateReader | null = null;
  #owner: StateOwner | null = null;
  #commandLoop: CommandLoop | null = null;
  /** Why this process may write no more: another instance took over, or the state can't be followed. */
  #fenced: Error | null = null;
  #opened = false;
  #closing = false;

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
    this.#commands = new CommandClient(cluster, settings.topic, this.#instanceId, this.#abort.signal);
    this.#loaded.promise.catch(() => undefined);
  }

  get incarnation(): number {
    return this.#owner?.incarnation ?? 0;
  }

  get previousOwners(): ReadonlyMap<number, Stored<OwnerRecord>> {
    return this.#owner?.previousOwners ?? new Map();
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
    const { cluster, settings, leaseMs, graceMs } = this.#options;
    const { signal } = this.#abort;
    const owner = new StateOwner({
      cluster,
      settings,
      instanceId: this.#instanceId,
      reader,
      followed: this.#followed,
      leaseMs,
      graceMs,
      clock: this.#clock,
      signal,
      onTrouble,
      onFailed: (error) => this.#fence(error),
    });
    this.#owner = owner;
    await owner.open();
    if (signal.aborted) return;
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
    owner.tellOutages();
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    if (!this.#opened) throw new StateClosed('the state store is not open');
    for (const change of changes) {
      const home = placementOf(keyOfChange(change), this.#homes.count);
      if (this.#followed.staged.holds(home))
        throw new StateAway(this.#outageOf(home) ?? 'it was not read yet');
    }
    await this.#commit({ changes });
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
      begin: (command) => this.#commit({ records: [command] }),
      finish: (changes, result) =>
        this.#commit({ changes, records: [result], tombstones: [`command/${result.id}`] }),
      discard: (id) => this.#commit({ tombstones: [`command/${id}`] }),
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
    return this.#opened ? (this.#owner?.outages() ?? new Map()) : new Map();
  }

  #outageOf(home: number): string | null {
    return this.#opened ? (this.#owner?.outageOf(home) ?? null) : null;
  }

  onFenced(listener: (error: Error) => void): void {
    if (this.#fenced === null) this.#fencedListeners.push(listener);
    else listener(this.#fenced);
  }

  mayAppend(topic?: string, partition?: number): boolean {
    const home = topic === undefined || partition === undefined ? 0 : this.#homes.of(topic, partition);
    return this.#owner?.holds(home) === true && this.#freshnessOf(home) === 'fresh';
  }

  async whenMayAppend(topic?: string, partition?: number): Promise<void> {
    await this.#loaded.promise;
    if (this.#owner === null) return new Promise(() => undefined);
    await this.#owner.whenAlone(
      topic === undefined || partition === undefined ? null : this.#homes.of(topic, partition),
    );
    if (this.#fenced !== null) throw this.#fenced;
    if (this.#abort.signal.aborted) throw new StateClosed('the state store was closed');
  }

  async close(released?: ReadonlyMap<string, number>): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const owner = this.#owner;
    owner?.rest();
    if (this.#opened && owner !== null && this.#fenced === null) {
      const timeout = new AbortController();
      const last = (async () => {
        await Promise.race([this.#commandLoop?.idle(), pause(COMMAND_END_MS, timeout.signal)]);
        await owner.release(released);
      })();
      last.catch(() => undefined);
      await Promise.race([last.catch(() => undefined), pause(CLOSE_TIMEOUT_MS, timeout.signal)]);
      timeout.abort();
    }
    this.#shutDown(new StateClosed('the state store was closed'));
  }

  async #commit(written: Written): Promise<void> {
    if (this.#owner === null) throw new StateClosed('this instance reads the state and does not own it');
    await this.#owner.commit(written);
  }

  #fence(error: Error): void {
    if (this.#fenced !== null) return;
    this.#fenced = error;
    this.#owner?.end(error);
    lifecycle.publish({ level: 'error', message: error.message, fields: { incarnation: this.incarnation } });
    for (const listener of this.#fencedListeners.splice(0)) listener(error);
  }

  #shutDown(error: Error): void {
    this.#closing = true;
    this.#owner?.end(error);
    this.#loaded.reject(error);
    this.#abort.abort();
    const { cluster } = this.#options;
    const lanes = [...producerLanes, FETCH_LANE, COMMAND_LANE];
    for (const { nodeId } of cluster.brokers()) {
      for (const lane of lanes) cluster.dropLane(nodeId, lane, 'the state store was closed');
    }
  }
}
