import { setTimeout as delay } from 'node:timers/promises';
import * as batch from '../../protocol/records/batch.ts';
import { parseControlRecord } from '../../protocol/records/control.ts';
import { readRecords } from '../../protocol/records/records.ts';
import {
  DestinationLog,
  LinkFailureError,
  type LinkSettings,
  MirrorLink,
  type PartitionRef,
  compareTail,
  defaultLinkSettings,
  tellUnclear,
} from '../link/index.ts';
import type { Cluster } from '../net/cluster.ts';
import { readTopicWriters, type TopicWriters } from '../net/topic-writers.ts';
import { KafkaClusterAdmin } from './cluster-admin.ts';
import { readForeignState } from './foreign-state.ts';
import {
  AdminError,
  type ClusterAdmin,
  type DestinationPartition,
  type SourceSession,
  type StoredBatch,
  type Surroundings,
  type TailVerdict,
} from './ports.ts';
import { type StateView, partitionKey } from './state/types.ts';
import { textOf } from '../net/error-text.ts';

export interface KafkaSurroundingsOptions {
  readonly destination: Cluster;
  readonly stateTopic: string;
  /** A new client of a configured cluster, undefined for a name that is not configured. */
  openCluster(name: string): Cluster | undefined;
  linkSettings(mirror: string): Partial<LinkSettings>;
  mayAppend(topic: string, partition: number): boolean;
  readonly view: StateView;
}

/** The real clusters and links behind the lifecycle's ports. */
export class KafkaSurroundings implements Surroundings {
  readonly destination: ClusterAdmin;
  readonly #options: KafkaSurroundingsOptions;
  readonly #abort = new AbortController();

  constructor(options: KafkaSurroundingsOptions) {
    this.#options = options;
    this.destination = new KafkaClusterAdmin(options.destination);
  }

  /** Ends what waits for a cluster that does not answer. */
  /** Aborted at the end. */
  get closed(): AbortSignal {
    return this.#abort.signal;
  }

  close(): void {
    this.#abort.abort(new Error('Isthmus is stopping'));
  }

  async openSource(mirror: string, source: string): Promise<SourceSession> {
    const cluster = this.#options.openCluster(source);
    if (cluster === undefined)
      throw new AdminError(`cluster ${source} is not in the configuration`, 40, false);
    const admin = new KafkaClusterAdmin(cluster);
    try {
      cluster.pinClusterId(await admin.clusterId());
    } catch (error) {
      await cluster.close();
      throw error;
    }
    const { destination, stateTopic, view } = this.#options;
    const settings = this.#options.linkSettings(mirror);
    return {
      admin,
      openLink: (hooks) => new MirrorLink({ mirror, source: cluster, destination, settings, hooks }),
      compareTail: async (ref, from, to, deadlineMs) => {
        const topic = view.topics.get(ref.topic);
        try {
          return await compareTail({
            source: cluster,
            destination,
            ref,
            from,
            to,
            deadlineMs,
            settings: { ...defaultLinkSettings, ...settings },
            ...(topic === undefined ? {} : topicIds(topic)),
            signal: this.#abort.signal,
          });
        } catch (error) {
          return verdictOf(error, from, to);
        }
      },
      mirroredTopics: () => readForeignState(cluster, stateTopic),
      close: () => cluster.close(),
    };
  }

  async topicWriters(): Promise<TopicWriters> {
    const connection = await this.#options.destination.anyConnection('admin');
    return readTopicWriters(connection, { timeoutMs: writersMs });
  }

  silenceMs(mirror: string): number {
    return this.#options.linkSettings(mirror).silenceMs ?? defaultLinkSettings.silenceMs;
  }

  partition(mirror: string, ref: PartitionRef, onWait?: (why: string) => void): DestinationPartition {
    const { destination, view } = this.#options;
    const topicId = view.topics.get(ref.topic)?.destinationTopicId;
    const log = new DestinationLog(destination, ref, {
      ...(topicId === undefined || topicId === '' ? {} : { topicId }),
      mayAppend: () => this.#options.mayAppend(ref.topic, ref.partition),
      settings: this.#options.linkSettings(mirror),
      signal: this.#abort.signal,
      onWait,
    });
    return {
      readEnd: () => log.readEnd(),
      settle: async () => {
        const end = view.partitions.get(partitionKey(ref.topic, ref.partition))?.persistedEnd ?? 0;
        const told = tellUnclear(mirror, ref, end, 'what was on its way when the stop began');
        const settled = await log.settle();
        told(settled.end, settled.settledBy);
        return settled;
      },
      readBatches: (from, to, visit) =>
        log.readBatches(from, to, (records, at) => visit(storedBatch(records, at))),
      appendBarrier: async (barrier) => void (await log.appendBarrier(barrier)),
    };
  }

  leaderOf({ topic, partition }: PartitionRef): number | undefined {
    return this.#options.destination.leaderOf(topic, partition)?.nodeId;
  }

  now(): number {
    return Date.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  }
}

const writersMs = 10_000;

/** A source that contradicts the tail damages it; one that can't say leaves it unverified. */
function verdictOf(error: unknown, from: number, to: number): TailVerdict {
  const message = textOf(error);
  const contradicts =
    error instanceof LinkFailureError &&
    ['diverged', 'foreign-write', 'tail-differs'].includes(error.failure.code);
  if (!contradicts) return { kind: 'unverified', from, to, why: message };
  return { kind: 'differs', offset: error.failure.offset ?? from, message };
}

function topicIds(topic: { sourceTopicId: string; destinationTopicId: string }) {
  return {
    sourceTopicId: topic.sourceTopicId,
    ...(topic.destinationTopicId === '' ? {} : { destinationTopicId: topic.destinationTopicId }),
  };
}

function storedBatch(records: Buffer, at: number): StoredBatch {
  const isControl = batch.isControl(records, at);
  return {
    baseOffset: batch.baseOffset(records, at),
    lastOffset: batch.lastOffset(records, at),
    producerId: batch.producerId(records, at),
    producerEpoch: batch.producerEpoch(records, at),
    isControl,
    isTransactional: batch.isTransactional(records, at),
    marker: isControl ? markerOf(records, at) : null,
  };
}

function markerOf(records: Buffer, at: number): StoredBatch['marker'] {
  for (const record of readRecords(records, at)) {
    const control = parseControlRecord(record);
    if (control.kind !== 'end-transaction') return null;
    return { type: control.type === 'COMMIT' ? 1 : 0, coordinatorEpoch: control.coordinatorEpoch };
  }
  return null;
}
