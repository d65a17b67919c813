import { ErrorCode, stockErrorName } from '../../../protocol/errors.ts';
import type { LogRecord } from '../../../protocol/records/records.ts';
import { type FetchResponse, fetchApi } from '../../../protocol/schema/01-fetch.ts';
import type { Freshness } from '../../gateway/ports.ts';
import { CallTimeoutError } from '../../net/close-cause.ts';
import type { Cluster } from '../../net/cluster.ts';
import { type Clock, type Instant, elapsed, systemClock } from './clock.ts';
import { visitCommitted } from './committed-records.ts';
import { StateClosed, pause } from './retry.ts';
import { StateUnusable } from './types.ts';

/**
 * Reads all partitions of the state topic for as long as it lives: one loop of long-poll fetches per leading broker,
 * READ_COMMITTED, by topic id. It knows how far it came and how fresh that is: an answer with
 * LSO = HW = our position says that at the moment its fetch was SENT there was nothing that we had not read.
 */
export interface StateReaderOptions {
  readonly cluster: Cluster;
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: number;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** Every committed record, in order within its partition. Throwing ends the reader. */
  readonly onRecord: (partition: number, record: LogRecord) => void;
  /** After all records of one answer. */
  readonly onBatchEnd: () => void;
  /** Once: the state can't be read on. */
  readonly onFailed: (error: Error) => void;
}

interface Position {
  next: number;
  lso: number;
  hw: number;
  /** When the last fetch was sent whose answer showed that nothing was missing. */
  fresh: Instant | null;
  /** An answer without records though the LSO lies above: at the front of the next request it must get some. */
  starved: boolean;
  error: string;
}

interface Waiter {
  readonly done: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Freshness of DESIGN section 7. */
export const FRESH_MS = 3_000;
export const FETCH_LANE = 'state-fetch';
const FETCH_VERSION = 16;
const MAX_WAIT_MS = 500;
/** While somebody waits to be caught up: an idle partition must not hold its answer back. */
const HURRIED_WAIT_MS = 10;
const CALL_TIMEOUT_MS = MAX_WAIT_MS + 5_000;
const MAX_BYTES = 8 * 1024 * 1024;
const PARTITION_MAX_BYTES = 1024 * 1024;
const RETRY_MS = 100;
const CHECK_MS = 1_000;

export class StateReader {
  readonly #options: StateReaderOptions;
  readonly #clock: Clock;
  readonly #positions: readonly Position[];
  readonly #loops = new Set<number>();
  readonly #waiters = new Set<Waiter>();
  #failure: Error | null = null;
  #wake: (() => void) | null = null;
  #refreshWanted = false;
  #hurried = 0;

  constructor(options: StateReaderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#positions = Array.from({ length: options.partitions }, () => ({
      next: 0,
      lso: -1,
      hw: -1,
      fresh: null,
      starved: false,
      error: '',
    }));
  }

  get failure(): Error | null {
    return this.#failure;
  }

  position(partition: number): number {
    return this.#positions[partition]?.next ?? 0;
  }

  /** Of all state partitions together: the least fresh decides. */
  freshness(): Freshness {
    const now = this.#clock();
    let freshness: Freshness = 'fresh';
    for (const { fresh } of this.#positions) {
      if (fresh === null) return 'loading';
      if (elapsed(fresh, now) > FRESH_MS || this.#failure !== null) freshness = 'stale';
    }
    return freshness;
  }

  start(): void {
    const { signal } = this.#options;
    signal.addEventListener('abort', () => this.#close(), { once: true });
    if (signal.aborted) this.#close();
    void this.#supervise();
  }

  /** Resolves when every partition was read to its end by fetches sent after `moment` (performance.now). */
  async caughtUpSince(moment: number): Promise<void> {
    this.#hurried += 1;
    try {
      await this.#wait(() => this.#positions.every(({ fresh }) => fresh !== null && fresh.mono >= moment));
    } finally {
      this.#hurried -= 1;
    }
  }

  /** Fetches that are sent from now on do not wait for data, until `undo` is called. */
  hurry(): () => void {
    this.#hurried += 1;
    return () => {
      this.#hurried -= 1;
    };
  }

  /** Resolves when the record at `offset` was read (or passed over as aborted). */
  hasRead(partition: number, offset: number): Promise<void> {
    return this.#wait(() => this.position(partition) > offset);
  }

  /** What keeps partitions from being read to their end, for an error text. */
  describeGap(): string {
    const gaps = this.#positions.flatMap(({ next, lso, hw, fresh, error }, partition) => {
      if (fresh !== null) return [];
      if (error !== '') return [`partition ${partition}: ${error}`];
      if (hw < 0) return [`partition ${partition}: no answer yet`];
      if (next >= lso && lso < hw)
        return [`partition ${partition}: a transaction is open at offset ${lso} of ${hw}`];
      return [`partition ${partition}: read up to ${next} of ${hw}`];
    });
    const shown = gaps.slice(0, 3).join('; ');
    return gaps.length > 3 ? `${shown}; and ${gaps.length - 3} more` : shown;
  }

  #wait(done: () => boolean): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (done()) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ done, resolve, reject }));
  }

  #checkWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.done()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #close(): void {
    this.#failure ??= new StateClosed('the state store was closed');
    for (const { reject } of this.#waiters) reject(this.#failure);
    this.#waiters.clear();
    this.#wake?.();
  }

  #fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    this.#close();
    this.#options.onFailed(error);
  }

  /** Keeps a loop running for every broker that leads a state partition. */
  async #supervise(): Promise<void> {
    const { cluster, topic, signal, partitions } = this.#options;
    while (this.#failure === null) {
      const leaders = new Set<number>();
      for (let partition = 0; partition < partitions; partition++) {
        const leader = cluster.leaderOf(topic, partition);
        if (leader === undefined) this.#refreshWanted = true;
        else leaders.add(leader.nodeId);
      }
      for (const nodeId of leaders) {
        if (this.#loops.has(nodeId)) continue;
        this.#loops.add(nodeId);
        void this.#loop(nodeId).finally(() => this.#loops.delete(nodeId));
      }
      if (this.#refreshWanted) {
        await pause(RETRY_MS, signal);
        this.#refreshWanted = false;
        await cluster.refresh([topic]).catch((error: Error) => {
          this.#refreshWanted = true;
          for (const position of this.#positions) if (position.error === '') position.error = error.message;
        });
        this.#checkIdentity();
      } else {
        await this.#rest();
      }
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CHECK_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #wantRefresh(): void {
    this.#refreshWanted = true;
    this.#wake?.();
  }

  #checkIdentity(): void {
    const { cluster, topic, topicId } = this.#options;
    const known = cluster.topic(topic);
    if (known === undefined || known.errorCode !== ErrorCode.NONE || known.topicId === topicId) return;
    this.#fail(
      new StateUnusable(
        `the state topic ${topic} of ${cluster.name} was deleted and created anew while in use: restart`,
      ),
    );
  }

  async #loop(nodeId: number): Promise<void> {
    const { cluster, signal } = this.#options;
    while (this.#failure === null) {
      const wanted = this.#ledBy(nodeId);
      if (wanted.length === 0) return;
      try {
        const connection = await cluster.connection(nodeId, FETCH_LANE);
        const sentAt = this.#clock();
        const response = await connection.call(fetchApi, this.#request(wanted), {
          maxVersion: FETCH_VERSION,
          timeoutMs: CALL_TIMEOUT_MS,
        });
        if (this.#failure !== null) return;
        const clean = this.#take(response, sentAt, wanted[0] as number);
        if (!clean) await pause(RETRY_MS, signal);
      } catch (error) {
        if (this.#failure !== null) return;
        if (error instanceof CallTimeoutError) cluster.dropLane(nodeId, FETCH_LANE, 'no answer to Fetch');
        for (const partition of wanted)
          this.#note(partition, error instanceof Error ? error.message : String(error));
        this.#wantRefresh();
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** The partitions that a broker leads, the starved ones first. */
  #ledBy(nodeId: number): number[] {
    const { cluster, topic } = this.#options;
    const led = [...this.#positions.keys()].filter(
      (partition) => cluster.leaderOf(topic, partition)?.nodeId === nodeId,
    );
    return led.sort(
      (a, b) => Number(this.#positions[b]?.starved) - Number(this.#positions[a]?.starved) || a - b,
    );
  }

  #request(wanted: readonly number[]) {
    const { cluster, topic, topicId } = this.#options;
    const partitions = wanted.map((partition) => ({
      partition,
      currentLeaderEpoch: cluster.leaderOf(topic, partition)?.leaderEpoch ?? -1,
      fetchOffset: this.position(partition),
      partitionMaxBytes: PARTITION_MAX_BYTES,
    }));
    return {
      maxWaitMs: this.#hurried > 0 ? HURRIED_WAIT_MS : MAX_WAIT_MS,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      isolationLevel: 1,
      topics: [{ topicId, topic, partitions }],
      forgottenTopicsData: [],
    };
  }

  /** false when some partition had an error. */
  #take(response: FetchResponse, sentAt: Instant, first: number): boolean {
    let clean = true;
    try {
      if (response.errorCode !== ErrorCode.NONE)
        throw new Error(`Fetch: ${stockErrorName(response.errorCode)}`);
      for (const { partitions } of response.responses) {
        for (const answer of partitions) {
          const position = this.#positions[answer.partitionIndex];
          if (position !== undefined && !this.#takePartition(answer, position, sentAt, first)) clean = false;
        }
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    this.#options.onBatchEnd();
    this.#checkWaiters();
    return clean;
  }

  #takePartition(
    answer: FetchResponse['responses'][number]['partitions'][number],
    position: Position,
    sentAt: Instant,
    first: number,
  ): boolean {
    const { topic, cluster } = this.#options;
    const partition = answer.partitionIndex;
    if (answer.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
      throw new StateUnusable(
        `the state topic ${topic} of ${cluster.name} no longer holds offset ${position.next} of partition ${partition}: ` +
          'it was cut or created anew. Restart, and check what the mirrors show',
      );
    }
    if (answer.errorCode !== ErrorCode.NONE) {
      this.#note(partition, stockErrorName(answer.errorCode));
      this.#wantRefresh();
      return false;
    }
    position.error = '';
    position.lso = answer.lastStableOffset;
    position.hw = answer.highWatermark;
    const bytes = answer.records ?? Buffer.alloc(0);
    const read = visitCommitted(bytes, position.next, answer.abortedTransactions ?? [], (record) =>
      this.#options.onRecord(partition, record),
    );
    position.next = read.next;
    // Compaction may leave nothing between us and the end: the first of a request is always given a batch if there is one.
    if (read.batches === 0 && position.next < position.lso) {
      if (partition === first && position.starved) position.next = position.lso;
      else position.starved = true;
    } else {
      position.starved = false;
    }
    if (position.next === position.lso && position.lso === position.hw) position.fresh = sentAt;
    return true;
  }

  #note(partition: number, error: string): void {
    const position = this.#positions[partition];
    if (position !== undefined) position.error = error;
  }
}
