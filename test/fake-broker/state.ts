import { createHash } from 'node:crypto';
import { FakeLog } from './log.ts';

/** What the fake cluster knows: nodes, topics, leaders, logs. The API files read and change it. */
export interface TopicSpec {
  readonly name: string;
  readonly partitions?: number;
  readonly topicId?: string;
}

export interface FakePartition {
  leader: number;
  replicas: number[];
  readonly log: FakeLog;
}

export interface FakeTopic {
  readonly name: string;
  topicId: string;
  readonly partitions: FakePartition[];
}

export interface FakeNode {
  readonly id: number;
  readonly host: string;
  port: number;
}

export type VersionTable = Map<number, { min: number; max: number }>;

export class ClusterState {
  readonly clusterId: string;
  readonly nodes: FakeNode[] = [];
  readonly topics = new Map<string, FakeTopic>();
  versions: VersionTable;
  nextProducerId = 0;
  /** Transactional id -> producer id and epoch. */
  readonly producers = new Map<string, { producerId: number; epoch: number }>();
  /** Partitions added to a running transaction, by transactional id, as `topic/partition`. */
  readonly transactions = new Map<string, Set<string>>();
  /** `clusterAuthorizedOperations`: all of them. */
  clusterOperations = 0x7ffe;
  readonly topicOperations = new Map<string, number>();

  constructor(clusterId: string, versions: VersionTable) {
    this.clusterId = clusterId;
    this.versions = versions;
  }

  addTopic(spec: TopicSpec): FakeTopic {
    const ids = this.nodes.map(({ id }) => id);
    const topic: FakeTopic = {
      name: spec.name,
      topicId: spec.topicId ?? idFromName(`${this.clusterId}/${spec.name}`),
      partitions: Array.from({ length: spec.partitions ?? 1 }, (_, index) => ({
        leader: ids[index % ids.length] ?? -1,
        replicas: ids,
        log: new FakeLog(spec.name, index),
      })),
    };
    this.topics.set(spec.name, topic);
    return topic;
  }

  topicById(topicId: string): FakeTopic | undefined {
    for (const topic of this.topics.values()) if (topic.topicId === topicId) return topic;
    return undefined;
  }

  partition(name: string, index: number): FakePartition | undefined {
    return this.topics.get(name)?.partitions[index];
  }

  node(id: number): FakeNode | undefined {
    return this.nodes.find((node) => node.id === id);
  }
}

export function idFromName(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
}
