import { ErrorCode } from '../../../protocol/errors.ts';
import { type RecordInput, buildBatch } from '../../../protocol/records/build.ts';
import { produceApi } from '../../../protocol/schema/00-produce.ts';
import { initProducerIdApi } from '../../../protocol/schema/22-init-producer-id.ts';
import { addPartitionsToTxnApi } from '../../../protocol/schema/24-add-partitions-to-txn.ts';
import { endTxnApi } from '../../../protocol/schema/26-end-txn.ts';
import type { Cluster } from '../../net/cluster.ts';
import { type Clock, type Instant, elapsed, systemClock } from './clock.ts';
import { ProducerRequests } from './producer-requests.ts';
import { type Attempt, StateClosed, StateWriteRefused, persist } from './retry.ts';
import { StateUnusable } from './types.ts';

/**
 * The one writer of one state partition: a transactional id of its own, one transaction at a time.
 *
 *     new ── init ──▶ ready ── commit ──▶ add partition ▶ produce … ▶ end(commit) ──▶ ready
 *                                  ▲            │ abortable error: end(abort)
 *                                  └────────────┘
 *     any step ── PRODUCER_FENCED, INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING ──▶ fenced, for ever
 *
 * An unclear outcome needs no read-back here: the same request is sent again, and the broker knows it by producer id,
 * epoch and sequence (Produce), or by the state of the transaction (the other three). The versions are capped below
 * those of KIP-890's second protocol (Produce 12, EndTxn 5), so one flow serves 3.6 to 4.4: there, and only there, an
 * EndTxn without an answer would leave the epoch unknown.
 */
export interface TransactionalProducerOptions {
  readonly cluster: Cluster;
  readonly topic: string;
  readonly partition: number;
  readonly transactionalId: string;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** Told why something is tried again. */
  readonly onAgain?: (why: string) => void;
}

export interface Committed {
  /** Offset of the last data record of the transaction; its marker stands behind it. */
  readonly lastOffset: number;
  /** When the EndTxn that was acknowledged had been sent: until then, at least, nobody had fenced us. */
  readonly sentAt: Instant;
}

const CAPS = { initProducerId: 4, addPartitions: 3, produce: 11, endTxn: 4 } as const;
const PRODUCE_TIMEOUT_MS = 8_000;
/** A crash leaves a transaction open for so long unless the next owner, who ends it at once, comes earlier. */
const TRANSACTION_TIMEOUTS_MS = [300_000, 60_000, 10_000] as const;
const MAX_REDOS = 5;
/**
 * A partition without a leader is not waited for inside a transaction: the coordinator would end an open one in time,
 * which looks like being fenced. It is aborted by ourselves and begun again when the partition is back.
 */
const PATIENCE_MS = 20_000;
const SEQUENCES = 0x8000_0000;

const NO_LEADER = 'the partition has no leader';

/** The transaction can't be committed any more, and nobody fenced us: abort it and do it again. */
type Step = 'ok' | 'redo' | 'redo-with-new-epoch' | 'no-leader';

export class TransactionalProducer {
  readonly transactionalId: string;
  readonly #options: TransactionalProducerOptions;
  readonly #clock: Clock;
  readonly #requests: ProducerRequests;
  #producerId = -1n;
  #epoch = -1;
  #sequence = 0;
  #timeoutMs: number = TRANSACTION_TIMEOUTS_MS[0];

  constructor(options: TransactionalProducerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.transactionalId = options.transactionalId;
    const { cluster, topic, partition, transactionalId } = options;
    this.#requests = new ProducerRequests(cluster, topic, partition, transactionalId);
  }

  /**
   * Takes the transactional id over: fences whoever had it and ends the transaction that it left open.
   * @param isWanted asked before each try: it may take long, and who was fenced meanwhile would fence a newer one
   * @throws StateUnusable when that is not allowed; StateClosed when it is not wanted any more
   */
  async init(isWanted: () => boolean = () => true): Promise<void> {
    await this.#initialise(-1n, -1, isWanted);
  }

  /**
   * Writes the batches as one transaction. When it resolves they are committed, though their marker may still be on
   * its way.
   * @throws StateFenced when another instance took over (it is not known whether this transaction got through)
   * @throws StateWriteRefused when the broker refuses a batch for good; nothing was committed
   */
  async commit(batches: readonly (readonly RecordInput[])[]): Promise<Committed> {
    for (let redo = 0; ; ) {
      let lastOffset = -1;
      let step: Step = 'ok';
      await this.#untilLed();
      await this.#addPartition();
      for (const records of batches) {
        const produced = await this.#produceOrAbort(records);
        if (typeof produced === 'string') {
          step = produced;
          break;
        }
        lastOffset = produced.lastOffset;
      }
      if (step === 'ok') {
        const sentAt = await this.#end(true);
        if (sentAt !== 'redo') return { lastOffset, sentAt };
      } else {
        await this.#end(false);
        if (step !== 'redo') await this.#initialise(this.#producerId, this.#epoch);
      }
      if (step === 'no-leader') continue;
      redo += 1;
      if (redo > MAX_REDOS) {
        throw new StateWriteRefused(
          `${this.#requests.what('transaction')} was aborted ${redo} times by the broker`,
        );
      }
    }
  }

  async #initialise(producerId: bigint, producerEpoch: number, isWanted = () => true): Promise<void> {
    const { transactionalId } = this;
    const answer = await this.#persist('InitProducerId', async () => {
      if (!isWanted()) throw new StateClosed(`${this.#requests.what('InitProducerId')}: given up`);
      const transactionTimeoutMs = this.#timeoutMs;
      const body = { transactionalId, transactionTimeoutMs, producerId, producerEpoch };
      const response = await this.#requests.askCoordinator(initProducerIdApi, body, CAPS.initProducerId);
      const { errorCode } = response;
      if (errorCode === ErrorCode.INVALID_TRANSACTION_TIMEOUT && this.#shortenTimeout()) {
        return {
          again: `transaction.timeout.ms ${transactionTimeoutMs} is above the broker's limit`,
          soon: true,
        };
      }
      return this.#requests.judge('InitProducerId', errorCode, response);
    });
    this.#producerId = answer.producerId;
    this.#epoch = answer.producerEpoch;
    this.#sequence = 0;
  }

  #shortenTimeout(): boolean {
    const shorter = TRANSACTION_TIMEOUTS_MS.find((ms) => ms < this.#timeoutMs);
    if (shorter === undefined) return false;
    this.#timeoutMs = shorter;
    return true;
  }

  /** Nothing is begun that could not be ended. */
  async #untilLed(): Promise<void> {
    const { cluster, topic, partition } = this.#options;
    if (cluster.leaderOf(topic, partition) !== undefined) return;
    await this.#persist('Produce', async () => {
      await cluster.refresh([topic]);
      return cluster.leaderOf(topic, partition) === undefined ? { again: NO_LEADER } : { done: null };
    });
  }

  async #addPartition(): Promise<void> {
    const { topic, partition } = this.#options;
    await this.#persist('AddPartitionsToTxn', async () => {
      const response = await this.#requests.askCoordinator(
        addPartitionsToTxnApi,
        {
          v3AndBelowTransactionalId: this.transactionalId,
          v3AndBelowProducerId: this.#producerId,
          v3AndBelowProducerEpoch: this.#epoch,
          v3AndBelowTopics: [{ name: topic, partitions: [partition] }],
          transactions: [],
        },
        CAPS.addPartitions,
      );
      const result = response.resultsByTopicV3AndBelow[0]?.resultsByPartition[0];
      const errorCode = result?.partitionErrorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
      return this.#requests.judge('AddPartitionsToTxn', errorCode, null);
    });
  }

  /** A refusal for good ends the open transaction before it is thrown. */
  async #produceOrAbort(records: readonly RecordInput[]): Promise<{ lastOffset: number } | Step> {
    try {
      return await this.#produce(records);
    } catch (error) {
      if (error instanceof StateWriteRefused || error instanceof StateUnusable) await this.#end(false);
      throw error;
    }
  }

  async #produce(records: readonly RecordInput[]): Promise<{ lastOffset: number } | Step> {
    const { cluster, topic, partition } = this.#options;
    const batch = buildBatch({
      records,
      transactional: true,
      producerId: this.#producerId,
      producerEpoch: this.#epoch,
      baseSequence: this.#sequence,
    });
    const begun = this.#clock();
    const patienceMs = Math.min(PATIENCE_MS, this.#timeoutMs / 3);
    const outcome = await this.#persist<{ lastOffset: number } | Step>('Produce', async () => {
      // whether an unanswered one got through is not known: the new epoch begins its own sequence
      if (elapsed(begun, this.#clock()) > patienceMs) return { done: 'no-leader' };
      const leader = cluster.leaderOf(topic, partition);
      if (leader === undefined) {
        await cluster.refresh([topic]);
        if (cluster.leaderOf(topic, partition) === undefined) return { again: NO_LEADER };
        return { again: 'leader found', soon: true };
      }
      const body = {
        transactionalId: this.transactionalId,
        acks: -1,
        timeoutMs: PRODUCE_TIMEOUT_MS,
        topicData: [{ name: topic, partitionData: [{ index: partition, records: batch }] }],
      };
      const response = await this.#requests.askLeader(leader.nodeId, produceApi, body, CAPS.produce);
      const answer = response.responses[0]?.partitionResponses[0];
      const errorCode = answer?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
      switch (errorCode) {
        case ErrorCode.NONE:
          return { done: { lastOffset: (answer?.baseOffset ?? -1) + records.length - 1 } };
        case ErrorCode.INVALID_TXN_STATE:
        case ErrorCode.TRANSACTION_ABORTABLE:
          return { done: 'redo' };
        case ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        case ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        case ErrorCode.UNKNOWN_PRODUCER_ID:
          return { done: 'redo-with-new-epoch' };
        case ErrorCode.MESSAGE_TOO_LARGE:
        case ErrorCode.RECORD_LIST_TOO_LARGE:
          throw new StateWriteRefused(
            `${this.#requests.what('Produce')}: a state record of ${batch.length} bytes is above max.message.bytes of ${topic}; raise it there`,
          );
        default: {
          const verdict = this.#requests.judge('Produce', errorCode, null, answer?.errorMessage);
          if ('again' in verdict) await cluster.refresh([topic]);
          return { again: 'again' in verdict ? verdict.again : '' };
        }
      }
    });
    if (typeof outcome !== 'string') this.#sequence = (this.#sequence + records.length) % SEQUENCES;
    return outcome;
  }

  /** When it was sent, or 'redo' when the transaction turned out to be aborted. */
  async #end(committed: boolean): Promise<Instant | 'redo'> {
    const { transactionalId } = this;
    return this.#persist<Instant | 'redo'>('EndTxn', async () => {
      const body = { transactionalId, producerId: this.#producerId, producerEpoch: this.#epoch, committed };
      let sentAt = this.#clock();
      const response = await this.#requests.askCoordinator(endTxnApi, body, CAPS.endTxn, () => {
        sentAt = this.#clock();
      });
      const { errorCode } = response;
      if (errorCode === ErrorCode.INVALID_TXN_STATE || errorCode === ErrorCode.TRANSACTION_ABORTABLE) {
        if (!committed || errorCode === ErrorCode.INVALID_TXN_STATE) return { done: 'redo' };
        await this.#end(false);
        return { done: 'redo' };
      }
      return this.#requests.judge<Instant | 'redo'>('EndTxn', errorCode, sentAt);
    });
  }

  #persist<T>(step: string, attempt: () => Promise<Attempt<T>>): Promise<T> {
    return persist(this.#requests.what(step), this.#options.signal, attempt, this.#options.onAgain);
  }
}
