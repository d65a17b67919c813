import type { LinkHooks, LinkProgress, PartitionRef, ResumePoint } from '../../../../../src/link/ports.ts';
import {
  AdminError,
  type ClusterAdmin,
  type DestinationPartition,
  type LinkPort,
  type MirroredTopic,
  type NewTopic,
  type PartitionBounds,
  type SourceSession,
  type Surroundings,
  type TailVerdict,
  type TopicDescription,
} from '../../../../../src/control/ports.ts';
import type { LocalTransaction, LocalTransactions } from '../../../../../src/control/local-transactions.ts';
import type { ConfigChange, ConfigEntry } from '../../../../../src/control/topic-settings.ts';
import type { TopicWriters } from '../../../../../src/net/topic-writers.ts';
import { FakeLog } from './fake-log.ts';

interface FakeTopic {
  topicId: string;
  partitions: number;
  configs: Map<string, string>;
  /** High watermark of each partition. */
  ends: number[];
}

/** A cluster in memory, as admin work sees it. */
export class FakeCluster implements ClusterAdmin {
  readonly name: string;
  readonly bootstrap: string;
  id: string;
  readonly topics = new Map<string, FakeTopic>();
  /** Thrown by every request while set. */
  fault: AdminError | null = null;
  readonly alterations: { topic: string; changes: readonly ConfigChange[] }[] = [];
  created = 0;

  constructor(name: string, id: string) {
    this.name = name;
    this.bootstrap = `${name}:9092`;
    this.id = id;
  }

  add(name: string, partitions = 1, more: { configs?: Record<string, string>; end?: number } = {}): this {
    this.topics.set(name, {
      topicId: `${this.name}-${name}-id`,
      partitions,
      configs: new Map(Object.entries(more.configs ?? {})),
      ends: Array.from({ length: partitions }, () => more.end ?? 0),
    });
    return this;
  }

  async clusterId(): Promise<string> {
    this.#answer();
    return this.id;
  }

  async listTopics(): Promise<TopicDescription[]> {
    this.#answer();
    return [...this.topics].map(([name, { topicId, partitions }]) => ({ name, topicId, partitions }));
  }

  async describeTopic(name: string): Promise<TopicDescription | null> {
    this.#answer();
    const topic = this.topics.get(name);
    return topic === undefined ? null : { name, topicId: topic.topicId, partitions: topic.partitions };
  }

  async topicConfigs(name: string): Promise<ConfigEntry[]> {
    this.#answer();
    return [...(this.topics.get(name)?.configs ?? [])].map(([key, value]) => ({
      name: key,
      value,
      isTopicOverride: true,
    }));
  }

  async bounds(topic: string, partitions: number): Promise<PartitionBounds[]> {
    this.#answer();
    const ends = this.topics.get(topic)?.ends ?? [];
    return Array.from({ length: partitions }, (_, partition) => ({
      partition,
      start: 0,
      end: ends[partition] ?? 0,
    }));
  }

  /** Transactions that are open, by topic. */
  readonly transactions = new Map<string, LocalTransaction[]>();
  unseenTransactions: string | null = null;

  async localTransactions(): Promise<LocalTransactions> {
    this.#answer();
    return { byTopic: new Map(this.transactions), unseen: this.unseenTransactions };
  }

  async createTopic(topic: NewTopic): Promise<boolean> {
    this.#answer();
    if (this.topics.has(topic.name)) return false;
    this.created += 1;
    this.add(topic.name, topic.partitions, { configs: Object.fromEntries(topic.configs) });
    return true;
  }

  async alterTopicConfigs(topic: string, changes: readonly ConfigChange[]): Promise<void> {
    this.#answer();
    if (changes.length === 0) return;
    this.alterations.push({ topic, changes });
    const configs = this.topics.get(topic)?.configs;
    for (const { name, value } of changes) {
      if (value === null) configs?.delete(name);
      else configs?.set(name, value);
    }
  }

  #answer(): void {
    if (this.fault !== null) throw this.fault;
  }
}

export function unreachable(name: string): AdminError {
  return new AdminError(`cluster ${name} can't be reached`, -1, true);
}

/** A link that goes where the test says. */
export class FakeLink implements LinkPort {
  readonly hooks: LinkHooks;
  readonly resumes = new Map<string, ResumePoint>();
  readonly state = new Map<string, LinkProgress>();
  /** Thrown by `remove`, once. */
  removeFault: Error | null = null;
  /** What the last `remove` was told to wait. */
  waited: number | null = null;
  closed = false;

  constructor(hooks: LinkHooks) {
    this.hooks = hooks;
  }

  add(ref: PartitionRef, resume: ResumePoint): void {
    this.resumes.set(keyOf(ref), resume);
    this.moveTo(ref, { phase: 'recovering', destinationEnd: -1 });
  }

  async remove(
    ref: PartitionRef,
    { silenceMs }: { readonly silenceMs?: number } = {},
  ): Promise<{ end: number | null; progress: LinkProgress | null }> {
    this.waited = silenceMs ?? null;
    const progress = this.state.get(keyOf(ref)) ?? null;
    this.state.delete(keyOf(ref));
    const fault = this.removeFault;
    this.removeFault = null;
    if (fault !== null) throw fault;
    const exact = progress !== null && progress.phase !== 'recovering' && progress.destinationEnd >= 0;
    return { end: exact ? progress.destinationEnd : null, progress };
  }

  progress(ref: PartitionRef): LinkProgress | undefined {
    return this.state.get(keyOf(ref));
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  moveTo(ref: PartitionRef, more: Partial<LinkProgress>): void {
    const before = this.state.get(keyOf(ref)) ?? idle;
    this.state.set(keyOf(ref), { ...before, ...more });
  }

  /** What a partition does that has recovered and appended up to `end`. */
  async mirrored(ref: PartitionRef, end: number, more: Partial<LinkProgress> = {}): Promise<void> {
    if (end > 0) await this.hooks.epochBegins(ref, { epoch: 0, offset: 0 });
    this.moveTo(ref, {
      phase: 'mirroring',
      destinationEnd: end,
      sourceHighWatermark: end,
      sourceLastStableOffset: end,
      sourceSeenAt: 1000,
      ...more,
    });
  }
}

const idle: LinkProgress = {
  phase: 'recovering',
  sourceHighWatermark: -1,
  sourceLastStableOffset: -1,
  sourceSeenAt: null,
  destinationEnd: -1,
  lastSourceEpoch: -1,
  error: null,
  requestAgeMs: 0,
  settledBy: 'none-needed',
  counts: {
    dataBatches: 0,
    dataBytes: 0,
    commitMarkers: 0,
    inertMarkers: 0,
    barriers: 0,
    rebuiltBatches: 0,
  },
  openIds: [],
  unverified: null,
  lost: null,
};

/** A clock that runs as fast as anybody sleeps. */
export class FakeWorld implements Surroundings {
  readonly destination = new FakeCluster('west', 'west-id');
  readonly source = new FakeCluster('east', 'east-id');
  readonly logs = new Map<string, FakeLog>();
  readonly links: FakeLink[] = [];
  mirroredAtSource: readonly MirroredTopic[] = [];
  /** Other configured clusters, with what their state topics say; an error is why that can't be read. */
  readonly others = new Map<string, { cluster: FakeCluster; mirrored: readonly MirroredTopic[] | Error }>();
  /** What the destination's ACLs say. */
  writers: TopicWriters | Error = { kind: 'anyone' };
  /** Why the source's own mirrors can't be read. */
  lineageFault: Error | null = null;
  verdict: TailVerdict = { kind: 'equal' };
  /** `append.silenceMs` by mirror, where the configuration has it. */
  readonly silences = new Map<string, number>();
  opened = 0;
  closedSessions = 0;
  #now = 1_000_000;

  get link(): FakeLink {
    const link = this.links.at(-1);
    if (link === undefined) throw new Error('no link was opened');
    return link;
  }

  log(topic: string, partition: number): FakeLog {
    const key = keyOf({ topic, partition });
    const log = this.logs.get(key) ?? new FakeLog();
    this.logs.set(key, log);
    return log;
  }

  async openSource(_mirror: string, source: string): Promise<SourceSession> {
    this.opened += 1;
    const other = this.others.get(source);
    if (other !== undefined) return this.#otherSession(other.cluster, other.mirrored);
    if (source !== 'east') throw new AdminError(`cluster ${source} is not in the configuration`, 40, false);
    await this.source.clusterId();
    return {
      admin: this.source,
      openLink: (hooks) => {
        const link = new FakeLink(hooks);
        this.links.push(link);
        return link;
      },
      compareTail: async () => this.verdict,
      mirroredTopics: async () => {
        if (this.lineageFault !== null) throw this.lineageFault;
        return this.mirroredAtSource;
      },
      close: async () => {
        this.closedSessions += 1;
      },
    };
  }

  async #otherSession(
    admin: FakeCluster,
    mirrored: readonly MirroredTopic[] | Error,
  ): Promise<SourceSession> {
    await admin.clusterId();
    return {
      admin,
      openLink: () => {
        throw new Error('only its mirrors are asked for');
      },
      compareTail: async () => this.verdict,
      mirroredTopics: async () => {
        if (mirrored instanceof Error) throw mirrored;
        return mirrored;
      },
      close: async () => {
        this.closedSessions += 1;
      },
    };
  }

  async topicWriters(): Promise<TopicWriters> {
    if (this.writers instanceof Error) throw this.writers;
    return this.writers;
  }

  silenceMs(mirror: string): number {
    return this.silences.get(mirror) ?? 60_000;
  }

  partition(_mirror: string, ref: PartitionRef, _onWait?: (why: string) => void): DestinationPartition {
    return this.log(ref.topic, ref.partition);
  }

  leaderOf(): number {
    return 1;
  }

  now(): number {
    return this.#now;
  }

  close(): void {}

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        if (signal?.aborted === true) reject(new Error('aborted'));
        else {
          this.#now += ms;
          resolve();
        }
      };
      const timer = setTimeout(end, 1);
      signal?.addEventListener('abort', end, { once: true });
    });
  }
}

function keyOf(ref: PartitionRef): string {
  return `${ref.topic}/${ref.partition}`;
}
