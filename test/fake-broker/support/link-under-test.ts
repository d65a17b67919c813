import assert from 'node:assert/strict';
import {
  type LinkFailure,
  type LinkHooks,
  type LinkProgress,
  type LinkSettings,
  MirrorLink,
  type PartitionRef,
  type ResumePoint,
} from '../../../src/link/index.ts';
import { Cluster } from '../../../src/net/cluster.ts';
import { until } from '../../harness/until.ts';
import { type FakeBrokerOptions, type FakeCluster, type FakeLog, startFakeBroker } from '../index.ts';

/** Waits of a real deployment made short; counts and sizes small enough that their edges are met. */
const QUICK: Partial<LinkSettings> = {
  fetchMaxWaitMs: 50,
  readBackTimeoutMs: 1_000,
  silenceMs: 2_000,
  silentAfterMs: 600,
  endWatchMs: 30,
  markerStillMs: 60,
  backoffMs: 5,
  maxBackoffMs: 50,
  ioThreads: 1,
};

export interface LinkSetup {
  readonly source?: FakeBrokerOptions;
  readonly destination?: FakeBrokerOptions;
  readonly settings?: Partial<LinkSettings>;
  readonly hooks?: Partial<LinkHooks>;
}

export class LinkUnderTest {
  readonly source: FakeCluster;
  readonly destination: FakeCluster;
  readonly sourceCluster: Cluster;
  readonly destinationCluster: Cluster;
  readonly link: MirrorLink;
  readonly failures: { readonly partition: PartitionRef; readonly failure: LinkFailure }[] = [];
  readonly epochs: { readonly partition: PartitionRef; readonly epoch: number; readonly offset: number }[] =
    [];

  static async start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
    const topics = [{ name: 't', partitions: 1 }];
    const [source, destination] = await Promise.all([
      startFakeBroker({ clusterId: 'source-cluster', topics, ...setup.source }),
      startFakeBroker({ clusterId: 'destination-cluster', topics, ...setup.destination }),
    ]);
    const clusters = [source, destination].map(
      (fake, i) =>
        new Cluster({
          name: i === 0 ? 'east' : 'west',
          properties: { 'bootstrap.servers': fake.bootstrap },
        }),
    );
    await Promise.all(clusters.map((cluster) => cluster.refresh(null)));
    return new LinkUnderTest(source, destination, clusters as [Cluster, Cluster], setup);
  }

  private constructor(
    source: FakeCluster,
    destination: FakeCluster,
    clusters: readonly [Cluster, Cluster],
    setup: LinkSetup,
  ) {
    this.source = source;
    this.destination = destination;
    [this.sourceCluster, this.destinationCluster] = clusters;
    this.link = this.another(setup);
  }

  /** A further link over the same clusters, as a second process would have. */
  another(setup: LinkSetup = {}): MirrorLink {
    return new MirrorLink({
      mirror: 'm',
      source: this.sourceCluster,
      destination: this.destinationCluster,
      settings: { ...QUICK, ...setup.settings },
      hooks: {
        epochBegins: async (partition, start) => {
          this.epochs.push({ partition, ...start });
        },
        failed: (partition, failure) => this.failures.push({ partition, failure }),
        mayAppend: () => true,
        ...setup.hooks,
      },
    });
  }

  from(partition = 0, topic = 't'): FakeLog {
    return this.source.log(topic, partition);
  }

  to(partition = 0, topic = 't'): FakeLog {
    return this.destination.log(topic, partition);
  }

  resume(more: Partial<ResumePoint> = {}, topic = 't'): ResumePoint {
    return {
      sourceTopicId: this.sourceCluster.topic(topic)?.topicId ?? '',
      destinationTopicId: this.destinationCluster.topic(topic)?.topicId ?? '',
      persistedEnd: 0,
      released: true,
      epochs: [],
      ...more,
    };
  }

  add(partition = 0, more: Partial<ResumePoint> = {}, topic = 't'): void {
    this.link.add({ topic, partition }, this.resume(more, topic));
  }

  progress(partition = 0, topic = 't'): LinkProgress {
    const found = this.link.progress({ topic, partition });
    if (found === undefined) throw new Error(`no partition ${topic}-${partition} in the link`);
    return found;
  }

  /** Until the destination has all that the source has decided. */
  async mirrored(partition = 0, topic = 't'): Promise<void> {
    const source = this.from(partition, topic);
    await until(
      `${topic}-${partition} is mirrored`,
      () => {
        if (this.failures.length > 0)
          throw new Error(this.failures.map((one) => one.failure.message).join('\n'));
        return this.progress(partition, topic).destinationEnd === source.lastStableOffset;
      },
      { everyMs: 5 },
    ).catch((error: unknown) => {
      const state = JSON.stringify(this.progress(partition, topic), (_, value) =>
        typeof value === 'bigint' ? `${value}` : (value as unknown),
      );
      throw new Error(`${state}`, { cause: error });
    });
  }

  async failed(): Promise<LinkFailure> {
    return until('the partition fails', () => this.failures[0]?.failure, { everyMs: 5 });
  }

  /** Every offset of the source below its last stable offset stands at the destination, and nothing else does. */
  expectEqual(partition = 0, topic = 't'): void {
    assert.deepEqual(spellStored(this.to(partition, topic)), spellSource(this.from(partition, topic)));
  }

  async close(): Promise<void> {
    await this.link.close({ silenceMs: 200 });
    await Promise.all([this.sourceCluster.close(), this.destinationCluster.close()]);
    await Promise.all([this.source.close(), this.destination.close()]);
  }
}

const map = (id: bigint): bigint => (id < 0n ? id : -(id + 2n));

/** What the source's log must look like at the destination, one line for each batch or inert offset. */
export function spellSource(log: FakeLog): string[] {
  const lines: string[] = [];
  for (const { base, last, bytes } of log.batches) {
    if (base >= log.lastStableOffset) break;
    const id = bytes.readBigInt64BE(43);
    const control = (bytes.readInt16BE(21) & 0x20) !== 0;
    const aborted =
      (bytes.readInt16BE(21) & 0x10) !== 0 &&
      log.aborted.some((one) => one.producerId === id && one.firstOffset <= base && base <= one.lastOffset);
    const commit = control && bytes.readInt16BE(61 + 7) === 1;
    if (control && commit) lines.push(`${base} COMMIT ${map(id)}/${bytes.readInt16BE(51)}`);
    else if (control || aborted) for (let o = base; o <= last; o += 1) lines.push(inert(o));
    else lines.push(`${base}-${last} ${map(id)} ${bytes.toString('latin1', 61)}`);
  }
  return lines;
}

export function spellStored(log: FakeLog): string[] {
  return log.batches.map(({ base, last, bytes }) => {
    const id = bytes.readBigInt64BE(43);
    if ((bytes.readInt16BE(21) & 0x20) === 0) return `${base}-${last} ${id} ${bytes.toString('latin1', 61)}`;
    if (id === -(2n ** 61n) - BigInt(base)) return inert(base);
    return `${base} ${bytes.readInt16BE(61 + 7) === 1 ? 'COMMIT' : 'ABORT'} ${id}/${bytes.readInt16BE(51)}`;
  });
}

function inert(offset: number): string {
  return `${offset} inert`;
}
