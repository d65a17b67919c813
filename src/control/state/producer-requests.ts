import { ErrorCode, stockErrorName } from '../../../protocol/errors.ts';
import type { AnyApi, RequestInput, ResponseOf } from '../../../protocol/schema/api.ts';
import { CallTimeoutError } from '../../net/close-cause.ts';
import type { Cluster } from '../../net/cluster.ts';
import { rightsAdvice } from '../rights-advice.ts';
import { type Attempt, StateWriteRefused } from './retry.ts';
import { StateFenced, StateUnusable } from './types.ts';

const CALL_TIMEOUT_MS = 10_000;
/** Connections per broker that the producers share; a broker takes one request of a connection at a time. */
const LANES = 4;

const FENCED: ReadonlySet<number> = new Set([
  ErrorCode.INVALID_PRODUCER_EPOCH,
  ErrorCode.PRODUCER_FENCED,
  ErrorCode.INVALID_PRODUCER_ID_MAPPING,
]);
/** To be sent again as it was. A 4.4.0 coordinator that is being fenced was seen to answer EndTxn with the first. */
const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.UNKNOWN_SERVER_ERROR,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.LEADER_NOT_AVAILABLE,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
  ErrorCode.REQUEST_TIMED_OUT,
  ErrorCode.NETWORK_EXCEPTION,
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.NOT_ENOUGH_REPLICAS,
  ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  ErrorCode.KAFKA_STORAGE_ERROR,
  ErrorCode.CONCURRENT_TRANSACTIONS,
]);

/** How one transactional producer asks its coordinator and its leader, and what an error code of theirs means. */
export class ProducerRequests {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #partition: number;
  readonly #transactionalId: string;
  #coordinator: number | null = null;

  constructor(cluster: Cluster, topic: string, partition: number, transactionalId: string) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#partition = partition;
    this.#transactionalId = transactionalId;
  }

  async askCoordinator<A extends AnyApi>(
    api: A,
    body: RequestInput<A>,
    maxVersion: number,
    beforeSending: () => void = () => undefined,
  ): Promise<ResponseOf<A>> {
    this.#coordinator ??= await this.#cluster.coordinator('transaction', this.#transactionalId);
    try {
      return await this.#call(this.#coordinator, 'txn', api, body, maxVersion, beforeSending);
    } catch (error) {
      this.#coordinator = null;
      throw error;
    }
  }

  async askLeader<A extends AnyApi>(
    nodeId: number,
    api: A,
    body: RequestInput<A>,
    maxVersion: number,
  ): Promise<ResponseOf<A>> {
    try {
      return await this.#call(nodeId, 'produce', api, body, maxVersion);
    } catch (error) {
      await this.#cluster.refresh([this.#topic]).catch(() => undefined);
      throw error;
    }
  }

  /** @throws StateFenced, StateUnusable, StateWriteRefused */
  judge<T>(step: string, errorCode: number, value: T, message?: string | null): Attempt<T> {
    if (errorCode === ErrorCode.NONE) return { done: value };
    const name = stockErrorName(errorCode);
    if (FENCED.has(errorCode)) {
      throw new StateFenced(
        `${this.what(step)}: ${name}. Another instance took this destination's state over, or the broker gave the ` +
          'transaction up; this process writes no more. One instance per destination: stop the other, then restart',
      );
    }
    if (PASSING.has(errorCode)) {
      this.#coordinator = null;
      return { again: name, soon: errorCode === ErrorCode.CONCURRENT_TRANSACTIONS };
    }
    const advice = rightsAdvice(errorCode, this.#topic, 'READ,WRITE,DESCRIBE');
    if (advice !== '') throw new StateUnusable(`${this.what(step)}: ${name}${advice}`);
    throw new StateWriteRefused(`${this.what(step)}: ${name}${message ? `: ${message}` : ''}`);
  }

  what(step: string): string {
    return `${step} of ${this.#transactionalId} on ${this.#cluster.name}`;
  }

  async #call<A extends AnyApi>(
    nodeId: number,
    purpose: 'txn' | 'produce',
    api: A,
    body: RequestInput<A>,
    maxVersion: number,
    beforeSending: () => void = () => undefined,
  ): Promise<ResponseOf<A>> {
    const lane = laneOf(purpose, this.#partition);
    const connection = await this.#cluster.connection(nodeId, lane);
    beforeSending();
    try {
      return await connection.call(api, body, { maxVersion, timeoutMs: CALL_TIMEOUT_MS });
    } catch (error) {
      // unlike an append of mirrored data, a repeated request of ours is recognised: a new connection loses nothing
      if (error instanceof CallTimeoutError) this.#cluster.dropLane(nodeId, lane, `no answer to ${api.name}`);
      throw error;
    }
  }
}

function laneOf(purpose: 'txn' | 'produce', partition: number): string {
  return `state-${purpose}-${partition % LANES}`;
}

/** Names of all lanes that producers open, for a store that closes. */
export const producerLanes: readonly string[] = Array.from({ length: LANES }, (_, index) => index).flatMap(
  (index) => [laneOf('txn', index), laneOf('produce', index)],
);
