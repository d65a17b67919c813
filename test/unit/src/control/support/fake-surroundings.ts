import type { LinkProgress, PartitionRef, ResumePoint } from '../../../../../src/link/ports.ts';
import type { LinkHooks } from '../../../../../src/link/ports.ts';
import type {
  ClusterAdmin,
  CompareTail,
  DestinationPartition,
  LinkPort,
  NewTopic,
  PartitionBounds,
  SourceSession,
  Surroundings,
  TopicDescription,
} from '../../../../../src/control/ports.ts';
import { AdminError } from '../../../../../src/control/ports.ts';
import type { ConfigChange, ConfigEntry } from '../../../../../src/control/topic-settings.ts';
import { FakeLog } from './fake-log.ts';

/** A cluster in memory, as control's administration sees it. */
export class FakeAdmin implements ClusterAdmin {
  readonly name: string;
  readonly bootstrap = 'fake:9092';
  readonly topics = new Map<string, TopicDescription>();
  readonly configs = new Map<string, Map<string, string>>();
  readonly ends = new Map<string, number>();
  /** Requests so far, by name. */
  readonly asked: string[] = [];
  /** Awaited before each answer; throwing is the answer. */
  fault: (request: string, topic: string) => void | Promise<void> = () => undefined;
  readonly #id: string;
  #made = 0;

  constructor(name: string, id: string) {
    this.name = name;
    this.#id = id;
  }

  add(name: string, partitions: number, topicId = `${this.name}-${name}-id`): this {
    this.topics.set(name, { name, topicId, partitions });
    this.configs.set(name, new Map());
    return this;
  }

  async clusterId(): Promise<string> {
    await this.#ask('clusterId', '');
    return this.#id;
  }

  async listTopics(): Promise<TopicDescription[]> {
    await this.#ask('listTopics', '');
    return [...this.topics.values()];
  }

  async describeTopic(name: string): Promise<TopicDescription | null> {
    await this.#ask('describeTopic', name);
    return this.topics.get(name) ?? null;
  }

  async topicConfigs(name: string): Promise<ConfigEntry[]> {
    await this.#ask('topicConfigs', name);
    return [...(this.configs.get(name) ?? [])].map(([key, value]) => ({
      name: key,
      value,
      isTopicOverride: true,
    }));
  }

  async bounds(topic: string, partitions: number): Promise<PartitionBounds[]> {
    await this.#ask('bounds', topic);
    return Array.from({ length: partitions }, (_, partition) => ({
      partition,
      start: 0,
      end: this.ends.get(`${topic}/${partition}`) ?? 0,
    }));
  }

  async createTopic({ name, partitions, configs }: NewTopic): Promise<boolean> {
    await this.#ask('createTopic', name);
    if (this.topics.has(name)) return false;
    this.#made += 1;
    this.add(name, partitions, `${this.name}-${name}-made-${this.#made}`);
    this.configs.set(name, new Map(configs));
    return true;
  }

  async alterTopicConfigs(topic: string, changes: readonly ConfigChange[]): Promise<void> {
    await this.#ask('alterTopicConfigs', topic);
    const configs = this.configs.get(topic);
    if (configs === undefined) throw new AdminError(`no topic ${topic}`, 3, true);
    for (const { name, value } of changes) {
      if (value === null) configs.delete(name);
      else configs.set(name, value);
    }
  }

  async #ask(request: string, topic: string): Promise<void> {
    this.asked.push(request);
    await Promise.resolve();
    await this.fault(request, topic);
  }
}

/** A link that does nothing by itself: tests say how far it came and how it lets go. */
export class FakeLink implements LinkPort {
  readonly added = new Map<string, ResumePoint>();
  readonly progressOf = new Map<string, LinkProgress>();
  hooks: LinkHooks | null = null;
  removing: (ref: PartitionRef) => void | Promise<void> = () => undefined;

  add(ref: PartitionRef, resume: ResumePoint): void {
    this.added.set(`${ref.topic}/${ref.partition}`, resume);
    this.progressOf.set(
      `${ref.topic}/${ref.partition}`,
      linkProgress({ destinationEnd: resume.persistedEnd }),
    );
  }

  async remove(ref: PartitionRef): Promise<{ end: number | null; progress: LinkProgress | null }> {
    await this.removing(ref);
    const key = `${ref.topic}/${ref.partition}`;
    const progress = this.progressOf.get(key) ?? null;
    this.added.delete(key);
    this.progressOf.delete(key);
    const end = progress === null || progress.destinationEnd < 0 ? null : progress.destinationEnd;
    return { end, progress };
  }

  progress(ref: PartitionRef): LinkProgress | undefined {
    return this.progressOf.get(`${ref.topic}/${ref.partition}`);
  }

  async close(): Promise<void> {}
}

export function linkProgress(more: Partial<LinkProgress> = {}): LinkProgress {
  return {
    phase: 'mirroring',
    sourceHighWatermark: -1,
    sourceLastStableOffset: -1,
    sourceSeenAt: null,
    destinationEnd: 0,
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
    ...more,
  };
}

/**
 * Everything outside the lifecycle, in memory, with a clock of its own: it stands still while anything runs, and goes
 * to the next waiter when nothing but waiting is left.
 */
export class FakeSurroundings implements Surroundings {
  readonly destination = new FakeAdmin('west', 'west-id');
  readonly source = new FakeAdmin('east', 'east-id');
  readonly link = new FakeLink();
  readonly logs = new Map<string, FakeLog>();
  /** Awaited before a source session opens; throwing is a source out of reach. */
  opening: () => void | Promise<void> = () => undefined;
  compareTail: CompareTail = async () => ({ kind: 'equal' });
  sessions = 0;
  #time = 1_000_000;
  readonly #sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  #ticking = false;

  async openSource(): Promise<SourceSession> {
    await this.opening();
    this.sessions += 1;
    return {
      admin: this.source,
      openLink: (hooks) => {
        this.link.hooks = hooks;
        return this.link;
      },
      compareTail: (ref, from, to, deadlineMs) => this.compareTail(ref, from, to, deadlineMs),
      mirroredTopics: async () => [],
      close: async () => {
        this.sessions -= 1;
      },
    };
  }

  log(topic: string, partition: number): FakeLog {
    const key = `${topic}/${partition}`;
    const log = this.logs.get(key) ?? new FakeLog();
    this.logs.set(key, log);
    return log;
  }

  partition(_mirror: string, ref: PartitionRef): DestinationPartition {
    return this.log(ref.topic, ref.partition);
  }

  now(): number {
    return this.#time;
  }

  /** As when somebody sets the machine's clock. */
  setClock(time: number): void {
    const by = time - this.#time;
    this.#time = time;
    for (const [index, { at, wake }] of this.#sleepers.entries())
      this.#sleepers[index] = { at: at + by, wake };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(new Error('aborted'));
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.#time + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener(
        'abort',
        () => {
          const at = this.#sleepers.findIndex(({ wake }) => wake === resolve);
          if (at >= 0) this.#sleepers.splice(at, 1);
          reject(new Error('aborted'));
        },
        { once: true },
      );
      this.#tick();
    });
  }

  #tick(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    const next = (): void => {
      const first = this.#sleepers.toSorted((a, b) => a.at - b.at)[0];
      if (first === undefined) {
        this.#ticking = false;
        return;
      }
      this.#sleepers.splice(this.#sleepers.indexOf(first), 1);
      this.#time = Math.max(this.#time, first.at);
      first.wake();
      // what was woken runs until it waits again, before the clock moves on
      setImmediate(() => setImmediate(next));
    };
    setImmediate(next);
  }
}
