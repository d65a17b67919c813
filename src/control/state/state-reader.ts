import { ErrorCode, stockErrorName } from '../../../protocol/errors.ts';
import type { LogRecord } from '../../../protocol/records/records.ts';
import { type FetchResponse, fetchApi } from '../../../protocol/schema/01-fetch.ts';
import { CallTimeoutError } from '../../net/close-cause.ts';
import type { Cluster } from '../../net/cluster.ts';
import { type Clock, type Instant, systemClock } from './clock.ts';
import { visitCommitted } from './committed-records.ts';
import { ReadPositions } from './read-positions.ts';
import { StateClosed, pause } from './retry.ts';
import { StateUnusable } from './types.ts';
import { textOf } from '../../net/error-text.ts';

/**
 * Reads all partitions of the state topic for as long as it lives: one loop of long-poll fetches per leading broker,
 * READ_COMMITTED, by topic id. A partition without a leader, or whose broker is silent, holds up no other;
 * `positions` tells how far each came.
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
  readonly positions: ReadPositions;
  readonly #options: StateReaderOptions;
  readonly #clock: Clock;
  readonly #loops = new Set<number>();
  #failure: Error | null = null;
  #wake: (() => void) | null = null;
  #refreshWanted = false;
  #hurried = 0;

  constructor(options: StateReaderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.positions = new ReadPositions(options.partitions, this.#clock);
  }

  start(): void {
    const { signal } = this.#options;
    signal.addEventListener('abort', () => this.#close(), { once: true });
    if (signal.aborted) this.#close();
    void this.#supervise();
  }

  /** Fetches that are sent from now on do not wait for data, until `undo` is called. */
  hurry(): () => void {
    this.#hurried += 1;
    return () => {
      this.#hurried -= 1;
    };
  }

  #close(): void {
    this.#failure ??= new StateClosed('the state store was closed');
    this.positions.end(this.#failure);
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
    let retryMs = RETRY_MS;
    while (this.#failure === null) {
      const leaders = new Set<number>();
      let leaderless = false;
      for (let partition = 0; partition < partitions; partition++) {
        const leader = cluster.leaderOf(topic, partition);
        if (leader !== undefined) leaders.add(leader.nodeId);
        else leaderless = true;
        if (leader === undefined) this.positions.trouble(partition, 'it has no leader');
      }
      for (const nodeId of leaders) {
        if (this.#loops.has(nodeId)) continue;
        this.#loops.add(nodeId);
        void this.#loop(nodeId).finally(() => this.#loops.delete(nodeId));
      }
      if (this.#refreshWanted || leaderless) {
        // a leader that moves is found at once, one that is gone for long is not asked for ten times a second
        await pause(retryMs, signal);
        retryMs = Math.min(retryMs * 2, CHECK_MS);
        this.#refreshWanted = false;
        await cluster.refresh([topic]).catch((error: Error) => {
          this.#refreshWanted = true;
          this.positions.troubleOfAll(error.message);
        });
        this.#checkIdentity();
      } else {
        retryMs = RETRY_MS;
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
        const message = textOf(error);
        for (const partition of wanted) this.positions.trouble(partition, message);
        this.#wantRefresh();
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** The partitions that a broker leads, the starved ones first. */
  #ledBy(nodeId: number): number[] {
    const { cluster, topic, partitions } = this.#options;
    const all = Array.from({ length: partitions }, (_, partition) => partition);
    return this.positions.inFetchOrder(
      all.filter((partition) => cluster.leaderOf(topic, partition)?.nodeId === nodeId),
    );
  }

  #request(wanted: readonly number[]) {
    const { cluster, topic, topicId } = this.#options;
    const partitions = wanted.map((partition) => ({
      partition,
      currentLeaderEpoch: cluster.leaderOf(topic, partition)?.leaderEpoch ?? -1,
      fetchOffset: this.positions.next(partition),
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
          if (!this.#takePartition(answer, sentAt, first)) clean = false;
        }
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
    this.#options.onBatchEnd();
    this.positions.checkWaiters();
    return clean;
  }

  #takePartition(
    answer: FetchResponse['responses'][number]['partitions'][number],
    sentAt: Instant,
    first: number,
  ): boolean {
    const { topic, cluster, partitions } = this.#options;
    const partition = answer.partitionIndex;
    if (partition < 0 || partition >= partitions) return true;
    const from = this.positions.next(partition);
    if (answer.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
      throw new StateUnusable(
        `the state topic ${topic} of ${cluster.name} no longer holds offset ${from} of partition ${partition}: ` +
          'it was cut or created anew. Restart, and check what the mirrors show',
      );
    }
    if (answer.errorCode !== ErrorCode.NONE) {
      this.positions.trouble(partition, stockErrorName(answer.errorCode));
      this.#wantRefresh();
      return false;
    }
    const bytes = answer.records ?? Buffer.alloc(0);
    const read = visitCommitted(bytes, from, answer.abortedTransactions ?? [], (record) =>
      this.#options.onRecord(partition, record),
    );
    this.positions.took(answer, read, sentAt, partition === first);
    return true;
  }
}
