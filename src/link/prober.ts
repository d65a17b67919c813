import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { describeConfigsApi } from '../../protocol/schema/32-describe-configs.ts';
import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { DOOMED_BATCH } from './doomed.ts';
import { nameOf } from './failure.ts';
import { PRODUCE_MAX } from './produce-request.ts';
import type { PartitionRef } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Probe rounds (DESIGN 5.5 rule 5): `num.io.threads` + 1 connections each send three doomed Produces, so that every
 * request that a broker had read before is very probably worked off: doomed ones pass the same leader check and wait
 * for the same log lock. Never wrong in 340 trials, and no proof: whoever relies on it says so.
 *
 * Partitions that ask while a round runs share the next one.
 */
export class Prober {
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #brokers = new Map<number, BrokerProbe>();

  constructor(cluster: Cluster, settings: LinkSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  /**
   * One whole round at this broker, begun after the call.
   * @returns null when every probe was refused as it must be, else why the round proves nothing (the leader moved,
   * the broker is out of reach ...)
   */
  round(nodeId: number, ref: PartitionRef, topicId: string): Promise<string | null> {
    let probe = this.#brokers.get(nodeId);
    if (probe === undefined) {
      probe = new BrokerProbe(this.#cluster, this.#settings, nodeId);
      this.#brokers.set(nodeId, probe);
    }
    return probe.join(ref, topicId);
  }

  /** Lets go of connections that no round needed lately. */
  dropIdle(): void {
    for (const probe of this.#brokers.values()) probe.dropIdle();
  }
}

interface Joined {
  readonly ref: PartitionRef;
  readonly topicId: string;
  readonly resolve: (why: string | null) => void;
}

const SENDS = 3;
const IDLE_MS = 10_000;
/** A bound on what a broker's settings may make us open. */
const MOST_THREADS = 256;
/** Partitions in one doomed request. */
const WIDTH = 100;

class BrokerProbe {
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #nodeId: number;
  #next: Joined[] = [];
  #running = false;
  #threads: number | null = null;
  #usedAt = 0;
  #lanes = 0;

  constructor(cluster: Cluster, settings: LinkSettings, nodeId: number) {
    this.#cluster = cluster;
    this.#settings = settings;
    this.#nodeId = nodeId;
  }

  join(ref: PartitionRef, topicId: string): Promise<string | null> {
    return new Promise((resolve) => {
      this.#next.push({ ref, topicId, resolve });
      if (!this.#running) void this.#run();
    });
  }

  dropIdle(): void {
    if (this.#running || this.#lanes === 0 || performance.now() - this.#usedAt < IDLE_MS) return;
    for (let i = 0; i < this.#lanes; i += 1)
      this.#cluster.dropLane(this.#nodeId, lane(i), 'no longer needed');
    this.#lanes = 0;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#next.length > 0) {
      // whoever asks within the same turn joins this round
      await new Promise((resolve) => setImmediate(resolve));
      const joined = this.#next.splice(0, WIDTH);
      const answers = await this.#round(joined).catch((error: unknown) => {
        const why = textOf(error);
        return new Map(joined.map((one) => [one, why] as const));
      });
      for (const one of joined) one.resolve(answers.get(one) ?? null);
    }
    this.#running = false;
    this.#usedAt = performance.now();
  }

  /** Reasons why the round proves nothing, for the partitions that have one. */
  async #round(joined: readonly Joined[]): Promise<Map<Joined, string>> {
    const timeoutMs = this.#settings.readBackTimeoutMs;
    const threads = await this.#ioThreads();
    const width = threads + 1;
    this.#lanes = Math.max(this.#lanes, width);
    const faults = new Map<Joined, string>();
    await Promise.all(
      Array.from({ length: width }, async (_, i) => {
        const connection = await this.#cluster.connection(this.#nodeId, lane(i), {
          connectTimeoutMs: timeoutMs,
        });
        for (let sent = 0; sent < SENDS; sent += 1) {
          await this.#sendDoomed(connection, joined, faults).catch((error: unknown) => {
            this.#cluster.dropLane(this.#nodeId, lane(i), 'probe not answered');
            throw error;
          });
        }
      }),
    );
    return faults;
  }

  async #sendDoomed(
    connection: BrokerConnection,
    joined: readonly Joined[],
    faults: Map<Joined, string>,
  ): Promise<void> {
    const byTopic = Map.groupBy(joined, (one) => one.ref.topic);
    const answer = await connection.call(
      produceApi,
      {
        // with acks=all too few in-sync replicas would refuse it before the log lock
        acks: 1,
        timeoutMs: this.#settings.readBackTimeoutMs,
        topicData: [...byTopic].map(([name, ones]) => ({
          name,
          topicId: (ones[0] as Joined).topicId,
          partitionData: uniquePartitions(ones).map((index) => ({ index, records: DOOMED_BATCH })),
        })),
      },
      { timeoutMs: this.#settings.readBackTimeoutMs, maxVersion: PRODUCE_MAX },
    );
    const codes = new Map<string, number>();
    for (const topic of answer.responses) {
      for (const entry of topic.partitionResponses) {
        codes.set(`${topic.name === '' ? topic.topicId : topic.name}/${entry.index}`, entry.errorCode);
      }
    }
    for (const one of joined) {
      const { topic, partition } = one.ref;
      const code = codes.get(`${topic}/${partition}`) ?? codes.get(`${one.topicId}/${partition}`);
      if (code === ErrorCode.INVALID_RECORD) continue;
      const said = code === undefined ? 'with nothing' : `with ${errorName(code)}`;
      faults.set(one, `${nameOf(one.ref)}: a probe at ${connection.peer} was answered ${said}`);
    }
  }

  async #ioThreads(): Promise<number> {
    if (this.#threads !== null) return this.#threads;
    try {
      const connection = await this.#cluster.connection(this.#nodeId, lane(0), {
        connectTimeoutMs: this.#settings.readBackTimeoutMs,
      });
      const answer = await connection.call(
        describeConfigsApi,
        {
          resources: [
            { resourceType: 4, resourceName: String(this.#nodeId), configurationKeys: ['num.io.threads'] },
          ],
        },
        { timeoutMs: this.#settings.readBackTimeoutMs },
      );
      const value = Number(answer.results[0]?.configs.find((one) => one.name === 'num.io.threads')?.value);
      if (Number.isInteger(value) && value > 0) this.#threads = Math.min(value, MOST_THREADS);
    } catch {
      // no right to read it, or a broker that is going away: the round itself will tell
    }
    return this.#threads ?? this.#settings.ioThreads;
  }
}

function lane(i: number): string {
  return `probe-${i}`;
}

function uniquePartitions(ones: readonly Joined[]): number[] {
  return [...new Set(ones.map((one) => one.ref.partition))];
}
