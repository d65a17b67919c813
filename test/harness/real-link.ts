import assert from 'node:assert/strict';
import { createTopicsApi, listOffsetsApi } from '../../protocol/schema/index.ts';
import {
  type LinkFailure,
  type LinkHooks,
  type LinkProgress,
  type LinkSettings,
  MirrorLink,
  type ResumePoint,
} from '../../src/link/index.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { type BatchCounts, compareBatches } from './compare-batches.ts';
import { runJava } from './java.ts';
import type { KafkaVersion } from './kafka-home.ts';
import { until } from './until.ts';

/** One side of a link under test: `logDirs` is read for the comparison, on disk, of what brokers stored. */
export interface Side {
  readonly version: KafkaVersion;
  readonly bootstrap: string;
  readonly logDirs: Readonly<Record<number, string>>;
}

/** What a mirror topic must be (DESIGN 5.2), as far as a test needs it. */
const MIRROR_TOPIC: Readonly<Record<string, string>> = {
  'compression.type': 'producer',
  'message.timestamp.type': 'CreateTime',
  'retention.ms': '-1',
  'retention.bytes': '-1',
};

/** A `MirrorLink` between real brokers, over topics that it creates; no control above it. */
export class RealLink {
  readonly source: Cluster;
  readonly destination: Cluster;
  readonly sides: { readonly source: Side; readonly destination: Side };
  readonly failures: LinkFailure[] = [];
  readonly #settings: Partial<LinkSettings>;
  readonly #hooks: Partial<LinkHooks>;
  readonly #epochs = new Map<string, { epoch: number; offset: number }[]>();
  #link: MirrorLink;

  /** @param through addresses for the link where they differ from the brokers' own (a proxy) */
  constructor(
    sides: { source: Side; destination: Side },
    options: {
      through?: { source?: string; destination?: string };
      settings?: Partial<LinkSettings>;
      hooks?: Partial<LinkHooks>;
    } = {},
  ) {
    this.sides = sides;
    this.#settings = options.settings ?? {};
    this.#hooks = options.hooks ?? {};
    const cluster = (name: 'source' | 'destination') =>
      new Cluster({
        name,
        properties: { 'bootstrap.servers': options.through?.[name] ?? sides[name].bootstrap },
      });
    this.source = cluster('source');
    this.destination = cluster('destination');
    this.#link = this.#make();
  }

  get link(): MirrorLink {
    return this.#link;
  }

  /** Makes the topic on both sides and begins to mirror it from nothing. */
  async mirror(topic: string, partitions: number, replicationFactor = -1): Promise<void> {
    await createTopic(this.source, topic, partitions, replicationFactor, {});
    await createTopic(this.destination, topic, partitions, replicationFactor, MIRROR_TOPIC);
    for (let partition = 0; partition < partitions; partition += 1) {
      this.#link.add({ topic, partition }, this.#resume(topic, partition, 0, true));
    }
  }

  /** A new process over the same logs: it knows what was persisted, and nothing was released. */
  async takeOver(topic: string, persistedEnds: readonly number[]): Promise<void> {
    // the former one goes on living without a partition: nothing of it is closed in order
    void this.#link.close({ silenceMs: 0 });
    this.#link = this.#make();
    for (const [partition, end] of persistedEnds.entries()) {
      this.#link.add({ topic, partition }, this.#resume(topic, partition, end, false));
    }
  }

  progress(topic: string, partition: number): LinkProgress {
    const found = this.#link.progress({ topic, partition });
    if (found === undefined) throw new Error(`no ${topic}-${partition} in the link`);
    return found;
  }

  /** Until every partition stands at the last stable offset that the source tells now. */
  async caughtUp(topic: string, partitions: number, timeoutMs = 60_000): Promise<number[]> {
    const ends = await this.stableOffsets(topic, partitions);
    const what = `${topic} is mirrored to ${ends.join()}`;
    await until(
      what,
      () => {
        if (this.failures.length > 0) return true;
        return ends.every((end, partition) => this.progress(topic, partition).destinationEnd >= end);
      },
      { timeoutMs },
    ).catch((error: unknown) => {
      const states = ends.map((_, partition) => this.progress(topic, partition).error);
      throw new Error(`${what}: ${JSON.stringify(states)}`, { cause: error });
    });
    assert.deepEqual(this.failures, []);
    return ends;
  }

  /** Last stable offsets of the source, asked of its brokers. */
  async stableOffsets(topic: string, partitions: number): Promise<number[]> {
    await this.source.refresh([topic]);
    return Promise.all(
      Array.from({ length: partitions }, async (_, partitionIndex) => {
        const leader = this.source.leaderOf(topic, partitionIndex);
        const connection = await this.source.connection(leader?.nodeId ?? -1, 'test');
        const answer = await connection.call(listOffsetsApi, {
          isolationLevel: 1,
          topics: [{ name: topic, partitions: [{ partitionIndex, timestamp: -1n }] }],
        });
        const entry = answer.topics[0]?.partitions[0];
        if (entry === undefined || entry.errorCode !== 0)
          throw new Error(`no end of ${topic}-${partitionIndex}`);
        return entry.offset;
      }),
    );
  }

  /**
   * The destination, read in both isolation levels by a Java consumer, is what a read_committed consumer sees of the
   * source up to `ends`; and on disk every batch is the one that belongs there. @returns counts over all partitions
   */
  async expectEqual(topic: string, ends: readonly number[]): Promise<BatchCounts> {
    const read = async (side: Side, isolation: string): Promise<string[]> => {
      const to = ends.map((end, partition) => `${partition}:${end}`).join();
      const lines = await runJava(side.version, 'ReadAll.java', [
        '--bootstrap',
        side.bootstrap,
        '--topic',
        topic,
        '--isolation',
        isolation,
        '--to',
        to,
      ]);
      return lines.map((line) => {
        const { partition, records, first, last, sha256 } = JSON.parse(line) as Record<string, unknown>;
        return JSON.stringify({ partition, records, first, last, sha256 });
      });
    };
    const [truth, committed, all] = await Promise.all([
      read(this.sides.source, 'read_committed'),
      read(this.sides.destination, 'read_committed'),
      read(this.sides.destination, 'read_uncommitted'),
    ]);
    assert.deepEqual(committed, truth, 'read_committed');
    assert.deepEqual(all, truth, 'read_uncommitted');
    return this.expectSameBatches(topic, ends);
  }

  /** On disk every batch below `ends` is the one that belongs there. @returns counts over all partitions */
  expectSameBatches(topic: string, ends: readonly number[]): BatchCounts {
    const total = { data: 0, dataBytes: 0, commits: 0, inertForAborted: 0, inertForAborts: 0 };
    for (const [partition, upTo] of ends.entries()) {
      const leader = (cluster: Cluster) => cluster.leaderOf(topic, partition)?.nodeId ?? -1;
      const { counts, faults } = compareBatches({
        sourceLogDir: this.sides.source.logDirs[leader(this.source)] ?? '',
        destinationLogDir: this.sides.destination.logDirs[leader(this.destination)] ?? '',
        topic,
        partition,
        upTo,
      });
      assert.deepEqual(faults, []);
      for (const key of Object.keys(total) as (keyof BatchCounts)[]) total[key] += counts[key];
    }
    return total;
  }

  async close(): Promise<void> {
    await this.#link.close({ silenceMs: 1_000 });
    await Promise.all([this.source.close(), this.destination.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #make(): MirrorLink {
    return new MirrorLink({
      mirror: 'm',
      source: this.source,
      destination: this.destination,
      settings: this.#settings,
      hooks: {
        epochBegins: async ({ topic, partition }, start) => {
          const key = `${topic}/${partition}`;
          this.#epochs.set(key, [...(this.#epochs.get(key) ?? []), { ...start }]);
        },
        failed: (_, failure) => this.failures.push(failure),
        mayAppend: () => true,
        ...this.#hooks,
      },
    });
  }

  #resume(topic: string, partition: number, persistedEnd: number, released: boolean): ResumePoint {
    return {
      sourceTopicId: this.source.topic(topic)?.topicId ?? '',
      destinationTopicId: this.destination.topic(topic)?.topicId ?? '',
      persistedEnd,
      released,
      epochs: this.#epochs.get(`${topic}/${partition}`) ?? [],
    };
  }
}

async function createTopic(
  cluster: Cluster,
  name: string,
  numPartitions: number,
  replicationFactor: number,
  configs: Readonly<Record<string, string>>,
): Promise<void> {
  await cluster.connect();
  const connection = await cluster.anyConnection('admin');
  const answer = await connection.call(createTopicsApi, {
    topics: [
      {
        name,
        numPartitions,
        replicationFactor,
        assignments: [],
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      },
    ],
    timeoutMs: 10_000,
  });
  const [result] = answer.topics;
  if (result?.errorCode !== 0) throw new Error(`${name}: ${result?.errorCode} ${result?.errorMessage}`);
  await until(`${name} has leaders`, async () => {
    await cluster.refresh([name]);
    const { partitions } = cluster.topic(name) ?? { partitions: [] };
    return partitions.length === numPartitions && partitions.every((one) => one.leader >= 0);
  });
}
