import type { Cluster } from '../../net/cluster.ts';
import type { Clock } from './clock.ts';
import type { FollowedView } from './followed-view.ts';
import { LEASE_MS } from './lease.ts';
import { Leases } from './leases.ts';
import { OldResults } from './old-results.ts';
import { Outages } from './outages.ts';
import { OwnerRecords } from './owner-records.ts';
import { OwnerWriters } from './owner-writers.ts';
import { GRACE_MS, Ownership } from './ownership.ts';
import { PlacedEntries } from './placed-entries.ts';
import { pause } from './retry.ts';
import type { StateReader } from './state-reader.ts';
import type { StateTopicSettings } from './state-topic.ts';
import type { OwnerRecord, StateChange, StateRecord, Stored } from './types.ts';

export interface StateOwnerOptions {
  readonly cluster: Cluster;
  readonly settings: StateTopicSettings;
  /** Shown in the owner records. */
  readonly instanceId: string;
  readonly reader: StateReader;
  readonly followed: FollowedView;
  readonly leaseMs?: number | undefined;
  /** State partitions other than 0 are waited for so long. */
  readonly graceMs?: number | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told why the taking over takes longer. */
  readonly onTrouble: (why: string) => void;
  /** Another instance took over, or a state partition that came late can't be used. */
  readonly onFailed: (error: Error) => void;
}

/** What one decision writes. */
export interface Written {
  readonly changes?: readonly StateChange[];
  readonly records?: readonly StateRecord[];
  /** Keys of commands and results. */
  readonly tombstones?: readonly string[];
}

/** With a tick on top still within a second: the owner writes at least that often. */
const HEARTBEAT_MS = 700;
/** When writes of partition 0 are so late, every other state partition's own heartbeat keeps what lives there going. */
const LATE_MS = 1_500;
const TICK_MS = 250;
/** Far below transactional.id.expiration.ms and producer.id.expiration.ms, so that idle ids are never forgotten. */
const KEEP_ALIVE_MS = 3_600_000;

/**
 * What an owner of the state has beside its readers: the writers, the state partitions that are its own, and the right
 * to append to what lives there, kept alive by a heartbeat. Its `end` is for ever.
 */
export class StateOwner {
  readonly #options: StateOwnerOptions;
  readonly #leases: Leases;
  readonly #writers: OwnerWriters;
  readonly #ownership: Ownership;
  readonly #outages: Outages;
  readonly #records: OwnerRecords;
  readonly #oldResults: OldResults;
  #ticker: NodeJS.Timeout | null = null;
  #ended = false;

  constructor(options: StateOwnerOptions) {
    this.#options = options;
    const { cluster, settings, instanceId, reader, followed, leaseMs, clock, signal, onFailed } = options;
    const { topic, partitions } = settings;
    this.#leases = new Leases(clock, partitions, leaseMs ?? LEASE_MS);
    this.#oldResults = new OldResults(followed.view);
    this.#records = new OwnerRecords({
      partitions,
      instanceId,
      incarnation: () => this.incarnation,
      commit: (records) => this.commit({ records }),
    });
    this.#writers = new OwnerWriters({
      cluster,
      topic,
      partitions,
      signal,
      clock,
      onTrouble: options.onTrouble,
      onFenced: onFailed,
      onCommitted: (partition, { sentAt }) => this.#leases.acknowledge(partition, sentAt),
    });
    this.#ownership = new Ownership({
      topic,
      partitions,
      reader,
      writers: this.#writers,
      leases: this.#leases,
      staged: followed.staged,
      clock,
      signal,
      writeOwners: (numbers) => this.#records.claim(numbers),
      reveal: (partition) => followed.reveal(partition),
      onFailed,
    });
    this.#outages = new Outages(settings, cluster.name, {
      reader,
      writers: this.#writers,
      ownership: this.#ownership,
    });
  }

  get incarnation(): number {
    return this.#ownership.incarnation;
  }

  get previousOwners(): ReadonlyMap<number, Stored<OwnerRecord>> {
    return this.#ownership.previousOwners;
  }

  /** Takes the state over. @throws as `Ownership.open` */
  async open(): Promise<void> {
    await this.#ownership.open(this.#options.graceMs ?? GRACE_MS);
    if (this.#ended || this.#options.signal.aborted) return;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
  }

  /** One transaction per state partition; partition 0 after the others. Resolves when all is read back. */
  async commit({ changes = [], records = [], tombstones = [] }: Written): Promise<void> {
    const { positions } = this.#options.reader;
    const placed = new PlacedEntries(this.#options.settings.partitions, this.incarnation);
    for (const change of changes) placed.change(change);
    for (const record of records) placed.record(record);
    for (const key of tombstones) placed.tombstone(key);
    const written = await this.#writers.commit(placed.byPartition);
    await Promise.all(written.map(({ partition, lastOffset }) => positions.hasRead(partition, lastOffset)));
  }

  /** The right to append to what lives in a state partition. */
  holds(home: number): boolean {
    return this.#leases.holds(home);
  }

  /** Resolves when an older owner can append no more to what lives there; null = in all that are ours now. */
  async whenAlone(home: number | null): Promise<void> {
    for (const one of home === null ? this.#ownership.owned : [home]) {
      await this.#ownership.arrival(one);
      await pause(this.#leases.startsIn(one) ?? 0, this.#options.signal);
    }
  }

  outageOf(home: number): string | null {
    return this.#outages.of(home);
  }

  outages(): ReadonlyMap<number, string> {
    return this.#outages.all();
  }

  tellOutages(): void {
    this.#outages.tell();
  }

  /** No heartbeat and no old result is written any more. */
  rest(): void {
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#ticker = null;
  }

  /** Nothing is appended any more, and then, with exact ends by `T/P`, the next owner is told so. */
  async release(ends: ReadonlyMap<string, number> | undefined): Promise<void> {
    this.#leases.end();
    if (ends !== undefined) await this.#records.release(this.#releasable(), ends);
  }

  end(error: Error): void {
    this.#ended = true;
    this.#leases.end();
    this.rest();
    this.#writers.fail(error);
    this.#ownership.end(error);
  }

  /** In reach; and where the older owner's lease may still run, the next owner must wait for that as we did. */
  #releasable(): number[] {
    return this.#ownership.owned.filter(
      (home) => this.outageOf(home) === null && this.#leases.startsIn(home) === 0,
    );
  }

  /** Heartbeats, keep-alive of idle ids, old results. */
  #tick(): void {
    const now = this.#options.clock();
    const othersMs = this.#leases.age(0) > LATE_MS ? HEARTBEAT_MS : KEEP_ALIVE_MS;
    for (const partition of this.#writers.idleFor(now, (index) => (index === 0 ? HEARTBEAT_MS : othersMs))) {
      if (!this.#ownership.owns(partition)) continue;
      // a refusal would be a fault of the topic's settings and shows at the next write of somebody who waits for it
      this.#writers.heartbeat(partition, this.#records.heartbeat(partition)).catch(() => undefined);
    }
    const tombstones = this.#oldResults.due(now);
    if (tombstones.length > 0) this.commit({ tombstones }).catch(() => undefined);
    this.#outages.tell();
  }
}
