import { vi } from 'vitest';
import type { RecordInput } from '../../../../../../protocol/records/build.ts';
import type { Instant } from '../../../../../../src/control/state/clock.ts';
import { decodeRecord } from '../../../../../../src/control/state/codec.ts';
import { statePartitionOf } from '../../../../../../src/control/state/keys.ts';
import { ReadPositions } from '../../../../../../src/control/state/read-positions.ts';
import type { StateReaderOptions } from '../../../../../../src/control/state/state-reader.ts';
import { TopicStateStore } from '../../../../../../src/control/state/topic-state-store.ts';
import type {
  Committed,
  TransactionalProducerOptions,
} from '../../../../../../src/control/state/transactional-producer.ts';
import { StateFenced } from '../../../../../../src/control/state/types.ts';
import { partitionRecord, topicRecord } from '../../support/records.ts';

const PARTITIONS = 2;
/** Topics whose partition 0 has its state in state partition 0, and in 1. */
export const TOPICS = Array.from({ length: PARTITIONS }, (_, home) => {
  for (let at = 0; ; at++) if (statePartitionOf(`t${at}`, 0, PARTITIONS) === home) return `t${at}`;
});
const keyOf = (home: number): string => `${TOPICS[home] as string}/0`;

export interface Instance {
  readonly number: number;
  readonly store: TopicStateStore;
  /** Ends that it knows exactly, by state partition. */
  readonly ends: Map<number, number>;
  readonly reading: Set<number>;
  /** State partitions that it can't reach. */
  readonly cut: Set<number>;
  reader: { readonly options: StateReaderOptions; readonly positions: ReadPositions } | null;
  opened: boolean;
  writing: boolean;
}

interface Request {
  readonly of: Instance;
  readonly partition: number;
  readonly serve: () => void;
}

const seen = { appends: 0, takeovers: 0, releases: 0, countedEnds: 0, fenced: 0, crashes: 0, late: 0 };
let current: World | undefined;

/** The world of the test that runs; with a seed a new one. */
export function world(seed?: number): World {
  if (seed !== undefined) current = new World(seed);
  if (current === undefined) throw new Error('no world yet');
  return current;
}

/** A state topic of two partitions, a clock, and instances whose every request waits until its turn comes. */
export class World {
  readonly faults: string[] = [];
  readonly seen = seen;
  readonly #logs: { key: string; value: Uint8Array | null }[][] = Array.from(
    { length: PARTITIONS },
    () => [],
  );
  /** Who holds the transactional id of each state partition. */
  readonly #holders: unknown[] = [];
  /** Ends of the destination's logs, by state partition. */
  readonly #ends: number[] = Array.from({ length: PARTITIONS }, () => 0);
  readonly #instances: Instance[] = [];
  #requests: Request[] = [];
  #pauses: { readonly due: number; readonly resolve: () => void }[] = [];
  #now = 1_000_000;
  #started = 0;
  #random: number;
  /** How seldom something happens to an instance. */
  readonly #calm: number;

  constructor(seed: number) {
    this.#random = seed * 7919 + 17;
    this.#calm = [2, 4, 8][seed % 3] as number;
  }

  pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted || ms <= 0) return resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
      this.#pauses.push({ due: this.#now + ms, resolve });
    });
  }

  /** @param isWanted asked before each try of a real one, of which there is one here */
  init(options: TransactionalProducerOptions, producer: unknown, isWanted: () => boolean): Promise<void> {
    const { partition } = options;
    return this.#ask(options, partition, () => {
      if (!isWanted()) return;
      this.#holders[partition] = producer;
    });
  }

  async commit(
    options: TransactionalProducerOptions,
    producer: unknown,
    batches: readonly (readonly RecordInput[])[],
  ): Promise<Committed> {
    const { partition } = options;
    const sentAt = this.#clock();
    return this.#ask(options, partition, () => {
      if (this.#holders[partition] !== producer)
        throw new StateFenced(`state id ${partition} has a new owner`);
      const log = this.#logs[partition] ?? [];
      for (const { key, value } of batches.flat()) {
        log.push({ key: String(key), value: bytesOf(value) });
      }
      return { lastOffset: log.length - 1, sentAt };
    });
  }

  reads(options: StateReaderOptions): ReadPositions {
    const positions = new ReadPositions(PARTITIONS, () => this.#clock());
    const instance = this.#of(options);
    instance.reader = { options, positions };
    options.signal.addEventListener('abort', () => positions.end(new Error('closed')), { once: true });
    return positions;
  }

  async step(): Promise<void> {
    const dice = this.#next(100);
    if (dice < 60) this.#serve();
    else if (dice < 74) this.#fetch();
    else if (dice < 82) this.pass(20 + this.#next(200));
    else if (dice < 90) this.#append();
    else if (dice < 95) this.#write();
    else if (this.#next(this.#calm) > 0) this.pass(20);
    else if (dice < 96) this.#startInTrouble();
    else if (dice < 98) this.#toggle();
    else if (dice < 99) this.#crash();
    else this.#close();
    await settle();
    this.#check();
  }

  async end(): Promise<void> {
    for (const { store } of this.#instances.splice(0)) {
      const closed = store.close();
      for (let at = 0; at < 30; at++) {
        this.#requests = [];
        this.pass(1_000);
        await settle();
      }
      await closed;
    }
    this.#checkLogs();
  }

  #check(): void {
    for (let home = 0; home < PARTITIONS; home++) {
      const may = this.#instances.filter(({ store }) => store.mayAppend(TOPICS[home], 0));
      if (may.length > 1) {
        this.faults.push(
          `${may.map(({ number }) => number).join(' and ')} may append in state partition ${home}`,
        );
      }
    }
  }

  #append(): void {
    const home = this.#next(PARTITIONS);
    for (const { store, ends } of this.#instances) {
      const topic = TOPICS[home] as string;
      if (!store.mayAppend(topic, 0)) continue;
      const released = ends.has(home) ? null : store.releasedEnd(topic, 0);
      if (released !== null) this.seen.countedEnds += 1;
      if (released !== null && released !== this.#ends[home]) {
        this.faults.push(
          `end ${released} counts in state partition ${home}, the log ends at ${this.#ends[home]}`,
        );
      }
      this.seen.appends += 1;
      const end = (this.#ends[home] ?? 0) + 1;
      this.#ends[home] = end;
      ends.set(home, end);
    }
  }

  /** One decision over a state partition and, mostly, partition 0; what is written is one more than what is known. */
  #write(): void {
    const one = this.#instances.find(({ opened, writing, store }) => opened && !writing && !store.fenced);
    if (one === undefined) return;
    const { store } = one;
    const topic = TOPICS[this.#next(PARTITIONS)] as string;
    if (!store.view.knows(topic, 0)) return;
    const at = (store.view.partitions.get(`${topic}/0`)?.persistedEnd ?? 0) + 1;
    const generation = (store.view.topics.get(topic)?.generation ?? 0) + 1;
    one.writing = true;
    const both = this.#next(3) > 0;
    store
      .write([
        { put: partitionRecord('MIRRORING', { topic, persistedEnd: at }) },
        ...(both ? [{ put: { ...topicRecord, topic, generation } }] : []),
      ])
      .then(() => (one.writing = false))
      .catch(() => undefined);
  }

  /** A new one is started because the old one seems gone, and finds the cluster as troubled as that one did. */
  #startInTrouble(): void {
    if (this.#instances.length >= 3) return;
    const others = [...this.#instances];
    const one = this.start();
    for (let home = 0; home < PARTITIONS; home++) {
      for (const other of others) if (this.#next(2) > 0) other.cut.add(home);
      if (this.#next(4) === 0) one.cut.add(home);
    }
  }

  start(): Instance {
    this.#started += 1;
    const cluster = { name: 'west', number: this.#started, brokers: () => [], dropLane: () => undefined };
    const store = new TopicStateStore({
      cluster: cluster as never,
      settings: { topic: '__mirror_state', partitions: PARTITIONS, replicationFactor: 1 },
      instanceId: `instance-${this.#started}`,
      openTimeoutMs: 1_000_000,
      graceMs: 500,
      clock: () => this.#clock(),
    });
    const instance: Instance = {
      number: this.#started,
      store,
      ends: new Map(),
      reading: new Set(),
      cut: new Set(),
      reader: null,
      opened: false,
      writing: false,
    };
    this.#instances.push(instance);
    store.onFenced(() => {
      this.seen.fenced += 1;
      this.#leave(instance);
      store.close().catch(() => undefined);
    });
    store
      .open()
      .then(() => {
        instance.opened = true;
        this.seen.takeovers += 1;
        if (!store.view.knows(TOPICS[1] as string, 0)) this.seen.late += 1;
      })
      .catch(() => this.#leave(instance));
    return instance;
  }

  /** All that one instance asks is answered for a while, and nothing that others ask. */
  async serveOnly(instance: Instance, rounds = 60): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      for (let partition = 0; partition < PARTITIONS; partition++) this.#fetchFor(instance, partition);
      const isAsked = ({ of, partition }: Request) => of === instance && !of.cut.has(partition);
      const asked = this.#requests.filter(isAsked);
      this.#requests = this.#requests.filter((request) => !isAsked(request));
      for (const { serve } of asked) serve();
      await settle();
      this.#check();
    }
  }

  #toggle(): void {
    const one = this.#pick(this.#instances);
    const partition = this.#next(PARTITIONS);
    if (one === undefined || one.cut.delete(partition)) return;
    one.cut.add(partition);
  }

  /** Nothing of it is answered any more; what was sent may still be served. */
  #crash(): void {
    const one = this.#pick(this.#instances);
    if (one === undefined) return;
    this.seen.crashes += 1;
    this.#leave(one);
    one.cut.clear();
    one.reader = null;
  }

  #close(): void {
    const one = this.#pick(this.#instances.filter(({ opened }) => opened));
    if (one === undefined) return;
    one.opened = false;
    const ends = new Map<string, number>();
    for (let home = 0; home < PARTITIONS; home++) {
      const end = one.ends.get(home) ?? one.store.releasedEnd(TOPICS[home] as string, 0);
      if (end !== null) ends.set(keyOf(home), end);
    }
    this.seen.releases += 1;
    one.store
      .close(ends)
      .catch(() => undefined)
      .finally(() => this.#leave(one));
  }

  #leave(instance: Instance): void {
    const at = this.#instances.indexOf(instance);
    if (at >= 0) this.#instances.splice(at, 1);
  }

  #fetch(): void {
    const one = this.#pick(this.#instances);
    if (one !== undefined) this.#fetchFor(one, this.#next(PARTITIONS));
  }

  #fetchFor(one: Instance, partition: number): void {
    if (one.reader === null) return;
    const { options, positions } = one.reader;
    if (one.reading.has(partition) || options.signal.aborted) return;
    one.reading.add(partition);
    const sentAt = this.#clock();
    const serve = (): void => {
      one.reading.delete(partition);
      if (options.signal.aborted) return;
      const log = this.#logs[partition] ?? [];
      for (const { key, value } of log.slice(positions.next(partition))) {
        const record = { key: Buffer.from(key), value: value === null ? null : Buffer.from(value) };
        options.onRecord(partition, record as never);
      }
      const answer = { partitionIndex: partition, lastStableOffset: log.length, highWatermark: log.length };
      positions.took(answer as never, { next: log.length, batches: 1 }, sentAt, false);
      options.onBatchEnd();
      positions.checkWaiters();
    };
    this.#requests.push({ of: one, partition, serve });
  }

  #serve(): void {
    const ready = this.#requests.filter(({ of, partition }) => !of.cut.has(partition));
    const request = this.#pick(ready);
    if (request === undefined) return;
    this.#requests.splice(this.#requests.indexOf(request), 1);
    request.serve();
  }

  /** Served at one moment and answered at a later one; never answered once the instance has crashed or is closed. */
  #ask<T>(options: TransactionalProducerOptions, partition: number, work: () => T): Promise<T> {
    const of = this.#of(options);
    return new Promise((resolve, reject) => {
      options.signal.addEventListener('abort', () => reject(new Error('closed')), { once: true });
      const serve = (): void => {
        let answer: () => void;
        try {
          const value = work();
          answer = () => resolve(value);
        } catch (error) {
          answer = () => reject(error as Error);
        }
        this.#requests.push({ of, partition, serve: answer });
      };
      this.#requests.push({ of, partition, serve });
    });
  }

  #of(options: { readonly cluster: object }): Instance {
    const { number } = options.cluster as { number: number };
    const known = this.#known.get(number) ?? this.#instances.find((one) => one.number === number);
    if (known === undefined) throw new Error(`no instance ${number}`);
    this.#known.set(number, known);
    return known;
  }
  readonly #known = new Map<number, Instance>();

  pass(ms: number): void {
    this.#now += ms;
    vi.advanceTimersByTime(ms);
    const due = this.#pauses.filter((one) => one.due <= this.#now);
    this.#pauses = this.#pauses.filter((one) => one.due > this.#now);
    for (const { resolve } of due) resolve();
  }

  #checkLogs(): void {
    const last = new Map<string, number>();
    for (const { key, value } of this.#logs.flat()) {
      if (value === null) continue;
      const record = decodeRecord(key, value);
      const now =
        record.kind === 'partition'
          ? record.persistedEnd
          : record.kind === 'topic'
            ? record.generation
            : null;
      if (now === null) continue;
      const before = last.get(key) ?? 0;
      if (now !== before + 1) this.faults.push(`${key} went from ${before} to ${now}`);
      last.set(key, now);
    }
  }

  #clock(): Instant {
    return { mono: this.#now, wall: this.#now };
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[this.#next(items.length)];
  }

  /** A whole number below `limit`. */
  #next(limit: number): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return limit === 0 ? 0 : Math.floor((this.#random / 2 ** 32) * limit);
  }
}

function bytesOf(value: RecordInput['value']): Uint8Array | null {
  return value === null || value === undefined ? null : Uint8Array.from(Buffer.from(value));
}

/** Lets everything go on that can go on without a step. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
