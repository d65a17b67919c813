import { ErrorCode, stockErrorName } from '../../../protocol/errors.ts';
import { buildBatch } from '../../../protocol/records/build.ts';
import { produceApi } from '../../../protocol/schema/00-produce.ts';
import { initProducerIdApi } from '../../../protocol/schema/22-init-producer-id.ts';
import { CallTimeoutError } from '../../net/close-cause.ts';
import type { Cluster } from '../../net/cluster.ts';
import { rightsAdvice } from '../rights-advice.ts';
import type { StateEntry } from './commit-queue.ts';
import { type Attempt, StateWriteRefused, persist } from './retry.ts';
import { StateUnusable } from './types.ts';

/**
 * Appends commands to state partition 0 with a plain idempotent producer: any instance may, whoever owns the partition.
 * Should a command land twice after all (a new producer id), it has the same key, and its owner takes it once.
 */
export class CommandProducer {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #signal: AbortSignal;
  #identity: { readonly id: bigint; readonly epoch: number; sequence: number } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(cluster: Cluster, topic: string, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#topic = topic;
    this.#signal = signal;
  }

  /** Resolves when the command is in the log. One at a time, so that sequences follow each other. */
  append(entry: StateEntry, signal: AbortSignal = this.#signal): Promise<void> {
    const appended = this.#last.then(() =>
      persist(`command to ${this.#topic}`, signal, () => this.#append(entry)),
    );
    this.#last = appended.catch(() => {
      // it may or may not be in the log: the next command must not depend on its sequence
      this.#identity = null;
    });
    return appended;
  }

  async #append(entry: StateEntry): Promise<Attempt<void>> {
    const cluster = this.#cluster;
    const leader = cluster.leaderOf(this.#topic, 0);
    if (leader === undefined) {
      await cluster.refresh([this.#topic]);
      return { again: 'state partition 0 has no leader' };
    }
    this.#identity ??= await this.#newIdentity();
    const identity = this.#identity;
    const records = buildBatch({
      records: [{ key: entry.key, value: entry.value, timestamp: BigInt(Date.now()) }],
      producerId: identity.id,
      producerEpoch: identity.epoch,
      baseSequence: identity.sequence,
    });
    const topicData = [{ name: this.#topic, partitionData: [{ index: 0, records }] }];
    const connection = await cluster.connection(leader.nodeId, COMMAND_LANE);
    let code: number;
    try {
      const body = { transactionalId: null, acks: -1, timeoutMs: 8_000, topicData };
      const response = await connection.call(produceApi, body, { maxVersion: 11, timeoutMs: 10_000 });
      code = response.responses[0]?.partitionResponses[0]?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
    } catch (error) {
      if (error instanceof CallTimeoutError)
        cluster.dropLane(leader.nodeId, COMMAND_LANE, 'no answer to Produce');
      await cluster.refresh([this.#topic]);
      throw error;
    }
    if (code === ErrorCode.NONE || code === ErrorCode.DUPLICATE_SEQUENCE_NUMBER) {
      identity.sequence += 1;
      return { done: undefined };
    }
    const advice = rightsAdvice(code, this.#topic, 'WRITE');
    if (advice !== '') throw new StateUnusable(`command to ${this.#topic}: ${stockErrorName(code)}${advice}`);
    if (code === ErrorCode.MESSAGE_TOO_LARGE || code === ErrorCode.RECORD_LIST_TOO_LARGE) {
      throw new StateWriteRefused(
        `command to ${this.#topic}: ${stockErrorName(code)}: fewer topics at a time`,
      );
    }
    if (IDENTITY_LOST.has(code)) this.#identity = null;
    await cluster.refresh([this.#topic]);
    return { again: stockErrorName(code) };
  }

  async #newIdentity() {
    const connection = await this.#cluster.anyConnection(COMMAND_LANE);
    const body = { transactionalId: null, transactionTimeoutMs: 60_000 };
    const answer = await connection.call(initProducerIdApi, body, { maxVersion: 4, timeoutMs: 10_000 });
    if (answer.errorCode !== ErrorCode.NONE)
      throw new Error(`InitProducerId: ${stockErrorName(answer.errorCode)}`);
    return { id: answer.producerId, epoch: answer.producerEpoch, sequence: 0 };
  }
}

export const COMMAND_LANE = 'state-command';

const IDENTITY_LOST: ReadonlySet<number> = new Set([
  ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
  ErrorCode.UNKNOWN_PRODUCER_ID,
  ErrorCode.INVALID_PRODUCER_EPOCH,
  ErrorCode.INVALID_PRODUCER_ID_MAPPING,
]);
