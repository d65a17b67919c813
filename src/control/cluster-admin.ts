import { ErrorCode, isRetriable, stockErrorName } from '../../protocol/errors.ts';
import { describeConfigsApi } from '../../protocol/schema/32-describe-configs.ts';
import { listOffsetsApi } from '../../protocol/schema/02-list-offsets.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { type Cluster, ClusterIdMismatchError } from '../net/cluster.ts';
import { ClusterUnreachableError } from '../net/race.ts';
import { type LocalTransactions, LocalTransactionsLook } from './local-transactions.ts';
import {
  AdminError,
  type ClusterAdmin,
  type NewTopic,
  type PartitionBounds,
  type TopicDescription,
} from './ports.ts';
import { rightsAdvice } from './rights-advice.ts';
import { ADMIN_LANE, alterTopicConfigs, answered, createTopic } from './topic-changes.ts';
import type { ConfigChange, ConfigEntry } from './topic-settings.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Admin work at one cluster, over lanes of the client that everything else uses. What changes something is in
 * topic-changes.ts.
 */
export class KafkaClusterAdmin implements ClusterAdmin {
  readonly #cluster: Cluster;
  readonly #timeoutMs: number;
  readonly #transactions: LocalTransactionsLook;

  constructor(cluster: Cluster, timeoutMs = requestTimeoutMs) {
    this.#cluster = cluster;
    this.#timeoutMs = timeoutMs;
    this.#transactions = new LocalTransactionsLook(cluster);
  }

  get name(): string {
    return this.#cluster.name;
  }

  get bootstrap(): string {
    return this.#cluster.bootstrap
      .map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
      .join(',');
  }

  async clusterId(): Promise<string> {
    return this.#ask('its cluster id', () => this.#cluster.connect());
  }

  async listTopics(): Promise<TopicDescription[]> {
    await this.#ask('its topics', () => this.#cluster.refresh(null));
    return this.#cluster
      .topics()
      .filter((topic) => topic.errorCode === ErrorCode.NONE && !topic.isInternal)
      .map(({ name, topicId, partitions }) => ({ name, topicId, partitions: partitions.length }));
  }

  async describeTopic(name: string, expectedId?: string): Promise<TopicDescription | null> {
    await this.#ask(`topic ${name}`, () => this.#cluster.refresh([name]));
    const told = this.#cluster.topic(name);
    const isUnknown = told === undefined || told.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    const isAnother = expectedId !== undefined && told?.topicId !== expectedId;
    if (isUnknown || isAnother) {
      await this.#ask(`topic ${name}`, () => this.#cluster.leaderEpochFromAll([name]));
    }
    const topic = this.#cluster.topic(name);
    if (topic === undefined || topic.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) return null;
    if (topic.errorCode !== ErrorCode.NONE) throw this.#refused(`topic ${name}`, topic.errorCode, null, name);
    return { name, topicId: topic.topicId, partitions: topic.partitions.length };
  }

  async topicConfigs(name: string): Promise<ConfigEntry[]> {
    const what = `the settings of topic ${name}`;
    const answer = await this.#ask(what, async () => {
      const connection = await this.#cluster.anyConnection(ADMIN_LANE);
      const resource = { resourceType: topicResource, resourceName: name, configurationKeys: null };
      const timeoutMs = this.#timeoutMs;
      return answered(
        connection,
        connection.call(describeConfigsApi, { resources: [resource] }, { timeoutMs }),
      );
    });
    const result = answer.results[0];
    if (result === undefined) throw new AdminError(`${this.name} did not tell ${what}`, -1, true);
    if (result.errorCode !== 0) throw this.#refused(what, result.errorCode, result.errorMessage, name);
    return result.configs.map(({ name: key, value, configSource }) => ({
      name: key,
      value,
      isTopicOverride: configSource === dynamicTopicConfig,
    }));
  }

  async bounds(topic: string, partitions: number): Promise<PartitionBounds[]> {
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    const [starts, ends] = await Promise.all([
      this.#listOffsets(topic, numbers, earliest),
      this.#listOffsets(topic, numbers, latest),
    ]);
    return numbers.map((partition) => ({
      partition,
      start: starts.get(partition) ?? 0,
      end: ends.get(partition) ?? 0,
    }));
  }

  localTransactions(): Promise<LocalTransactions> {
    return this.#ask('its open transactions', () => this.#transactions.look());
  }

  async createTopic(topic: NewTopic): Promise<boolean> {
    return createTopic(this.#cluster, topic);
  }

  async alterTopicConfigs(topic: string, changes: readonly ConfigChange[]): Promise<void> {
    if (changes.length > 0) await alterTopicConfigs(this.#cluster, topic, changes);
  }

  async #listOffsets(topic: string, partitions: readonly number[], at: bigint): Promise<Map<number, number>> {
    const what = `the offsets of topic ${topic}`;
    const byLeader = new Map<number, number[]>();
    for (const partition of partitions) {
      const leader = this.#cluster.leaderOf(topic, partition)?.nodeId;
      if (leader === undefined) throw this.#refused(what, ErrorCode.LEADER_NOT_AVAILABLE, null, topic);
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), partition]);
    }
    const found = new Map<number, number>();
    await Promise.all(
      [...byLeader].map(async ([nodeId, led]) => {
        const connection = await this.#ask(what, () => this.#cluster.connection(nodeId, ADMIN_LANE));
        await this.#listFrom(connection, topic, led, at, found);
      }),
    );
    return found;
  }

  async #listFrom(
    connection: BrokerConnection,
    topic: string,
    partitions: readonly number[],
    at: bigint,
    found: Map<number, number>,
  ): Promise<void> {
    const what = `the offsets of topic ${topic}`;
    const asked = partitions.map((partitionIndex) => ({ partitionIndex, timestamp: at }));
    const request = { replicaId: -1, topics: [{ name: topic, partitions: asked }] };
    const answer = await this.#ask(what, () =>
      answered(connection, connection.call(listOffsetsApi, request, { timeoutMs: this.#timeoutMs })),
    );
    for (const partition of answer.topics[0]?.partitions ?? []) {
      if (partition.errorCode !== 0) throw this.#refused(what, partition.errorCode, null, topic);
      found.set(partition.partitionIndex, partition.offset);
    }
  }

  async #ask<T>(what: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (cause) {
      if (cause instanceof AdminError) throw cause;
      const mismatch = cause instanceof ClusterIdMismatchError;
      const reason = textOf(cause);
      // it names the cluster itself
      const isWhole = mismatch || cause instanceof ClusterUnreachableError;
      throw new AdminError(
        isWhole ? reason : `cluster ${this.name} did not tell ${what}: ${reason}`,
        mismatch ? ErrorCode.INVALID_REQUEST : -1,
        !mismatch,
        mismatch,
      );
    }
  }

  #refused(what: string, code: number, message: string | null, topic: string): AdminError {
    const detail = message === null ? '' : ` (${message})`;
    const advice = rightsAdvice(code, topic, 'DESCRIBE,DESCRIBE_CONFIGS,READ');
    return new AdminError(
      `cluster ${this.name} refused to tell ${what}: ${stockErrorName(code)}${detail}${advice}`,
      code,
      isRetriable(code),
    );
  }
}

const topicResource = 2;
const dynamicTopicConfig = 1;
const requestTimeoutMs = 10_000;
const earliest = -2n;
const latest = -1n;
