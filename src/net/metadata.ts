import type { MetadataResponse } from '../../protocol/schema/03-metadata.ts';

/** What is known about a cluster's brokers and topics, merged from every answer that came by. */
export interface Broker {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

export interface PartitionMetadata {
  readonly partition: number;
  /** Kafka error code of the partition, 0 when it has a leader. */
  readonly errorCode: number;
  /** -1 = no leader. */
  readonly leader: number;
  /** -1 = the broker is too old to tell. */
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  readonly offline: readonly number[];
}

export interface TopicMetadata {
  readonly name: string;
  /** 22-character base64url; zero when the broker is too old to tell. */
  readonly topicId: string;
  readonly errorCode: number;
  readonly isInternal: boolean;
  /** Ascending, gapless in an answer without error. */
  readonly partitions: readonly PartitionMetadata[];
}

export interface LeaderAndEpoch {
  readonly nodeId: number;
  readonly leaderEpoch: number;
}

const LEADER_NOT_AVAILABLE = 5;

export class MetadataCache {
  readonly #brokers = new Map<number, Broker>();
  readonly #topics = new Map<string, TopicMetadata>();
  #clusterId: string | null = null;
  #controllerId = -1;

  get clusterId(): string | null {
    return this.#clusterId;
  }

  get controllerId(): number {
    return this.#controllerId;
  }

  brokers(): readonly Broker[] {
    return [...this.#brokers.values()].sort((a, b) => a.nodeId - b.nodeId);
  }

  broker(nodeId: number): Broker | undefined {
    return this.#brokers.get(nodeId);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#topics.get(name);
  }

  topics(): readonly TopicMetadata[] {
    return [...this.#topics.values()];
  }

  leaderOf(topic: string, partition: number): LeaderAndEpoch | undefined {
    const found = this.#topics.get(topic)?.partitions[partition];
    if (found === undefined || found.leader < 0) return undefined;
    return { nodeId: found.leader, leaderEpoch: found.leaderEpoch };
  }

  noteBroker(broker: Broker): void {
    this.#brokers.set(broker.nodeId, broker);
  }

  /** A leader learnt from somewhere else (a response's CurrentLeader); an older epoch than the known one is ignored. */
  noteLeader(topic: string, partition: number, leader: LeaderAndEpoch): void {
    const known = this.#topics.get(topic);
    const old = known?.partitions[partition];
    if (known === undefined || old === undefined || leader.leaderEpoch <= old.leaderEpoch) return;
    const partitions = [...known.partitions];
    partitions[partition] = { ...old, leader: leader.nodeId, leaderEpoch: leader.leaderEpoch, errorCode: 0 };
    this.#topics.set(topic, { ...known, partitions });
  }

  /**
   * Takes in what several brokers told at the same time. One that is cut off may not know a topic, or know an older
   * one of its name: whoever knows it outvotes those who don't, and among topic ids the majority counts, in a tie the
   * one already known.
   */
  mergeAll(answers: readonly MetadataResponse[]): void {
    const votes = new Map<string, Map<string, number>>();
    for (const { topics } of answers) {
      for (const { name, topicId, errorCode } of topics) {
        if (name === null || errorCode !== 0) continue;
        const ofName = votes.get(name) ?? new Map<string, number>();
        votes.set(name, ofName.set(topicId, (ofName.get(topicId) ?? 0) + 1));
      }
    }
    const chosen = new Map<string, string>();
    for (const [name, ofName] of votes) {
      const most = Math.max(...ofName.values());
      const known = this.#topics.get(name)?.topicId ?? '';
      const first = [...ofName.keys()].find((id) => ofName.get(id) === most) ?? '';
      chosen.set(name, ofName.get(known) === most ? known : first);
    }
    for (const answer of answers) {
      const topics = answer.topics.filter(({ name, topicId, errorCode }) => {
        const id = chosen.get(name ?? '');
        return id === undefined || (id === topicId && errorCode === 0);
      });
      this.merge({ ...answer, topics }, false);
    }
  }

  /**
   * Takes an answer in. A lagging broker can tell an older leader than one already known: within one topic id the
   * higher leader epoch stays. `all` = the answer was to a question for all topics, so absent ones are gone.
   */
  merge(answer: MetadataResponse, all: boolean): void {
    if (answer.clusterId !== null) this.#clusterId = answer.clusterId;
    if (answer.controllerId >= 0) this.#controllerId = answer.controllerId;
    if (answer.brokers.length > 0) {
      this.#brokers.clear();
      for (const { nodeId, host, port, rack } of answer.brokers)
        this.#brokers.set(nodeId, { nodeId, host, port, rack });
    }
    const seen = new Set<string>();
    for (const topic of answer.topics) {
      if (topic.name === null) continue;
      seen.add(topic.name);
      const old = this.#topics.get(topic.name);
      if (topic.errorCode === LEADER_NOT_AVAILABLE && old !== undefined && topic.partitions.length === 0)
        continue;
      const same = old !== undefined && old.topicId === topic.topicId;
      const partitions: PartitionMetadata[] = [];
      for (const partition of topic.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex)) {
        const fresh: PartitionMetadata = {
          partition: partition.partitionIndex,
          errorCode: partition.errorCode,
          leader: partition.leaderId,
          leaderEpoch: partition.leaderEpoch,
          replicas: partition.replicaNodes,
          isr: partition.isrNodes,
          offline: partition.offlineReplicas,
        };
        const before = same ? old.partitions[partition.partitionIndex] : undefined;
        const older =
          before !== undefined && fresh.leaderEpoch >= 0 && fresh.leaderEpoch < before.leaderEpoch;
        // a hostile index would make a sparse array of any length; a gapless answer puts each at its own place
        if (fresh.partition === partitions.length) partitions.push(older ? before : fresh);
      }
      this.#topics.set(topic.name, {
        name: topic.name,
        topicId: topic.topicId,
        errorCode: topic.errorCode,
        isInternal: topic.isInternal,
        partitions,
      });
    }
    if (!all) return;
    for (const name of this.#topics.keys()) if (!seen.has(name)) this.#topics.delete(name);
  }
}
