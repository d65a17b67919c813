import type { MirrorRolePort, MirrorView, VerbPort } from '../gateway/ports.ts';
import type { LinkProgress, PartitionRef } from '../link/ports.ts';
import { lifecycle, syncError } from '../observe/channels.ts';
import { ConfigsTask } from './configs-task.ts';
import { type DescribeRow, describeRows } from './describe.ts';
import { ExternalCopies } from './external-copies.ts';
import { Ledger } from './ledger.ts';
import { type LossReport, lossReport } from './loss.ts';
import { MirrorRunner } from './mirror-runner.ts';
import { StateMirrorView } from './mirror-view.ts';
import type { Surroundings } from './ports.ts';
import { isAllStopped } from './configs-task.ts';
import { RepeatedNotes } from './repeated-notes.ts';
import { StateFenced, type StateStore, partitionKey } from './state/types.ts';
import { type MirrorReader, type MirrorSummary, MirrorVerbs } from './verb-port.ts';
import { VerbRunner } from './verb-runner.ts';
import type { VerbWorld } from './verbs/types.ts';
import { within } from './within.ts';
import { WritersTask } from './writers-task.ts';
import { isDeleted, type MirrorEntry, YamlMirrors } from './yaml-mirrors.ts';
import { textOf } from '../net/error-text.ts';

export interface DestinationControlOptions {
  readonly destinationName: string;
  readonly stateTopic: string;
  readonly store: StateStore;
  readonly surroundings: Surroundings;
  /** Configured clusters with their `bootstrap.servers`. */
  readonly clusters: ReadonlyMap<string, string>;
  /** Entries of the YAML whose destination this is. */
  readonly entries: readonly MirrorEntry[];
}

export interface MirrorStatus {
  readonly mirror: string;
  readonly source: string;
  readonly sourceClusterId: string;
  readonly copier: string;
  /** Partitions by state. */
  readonly states: Readonly<Record<string, number>>;
  /** Of the partitions whose lag is known, -1 when it is known of none that is not STOPPED. */
  readonly lag: number;
  readonly error: string | null;
  readonly drift: readonly string[];
}

export interface ControlStatus {
  readonly destination: string;
  /** Of the state as a whole: `stale` when any state partition is. */
  readonly freshness: string;
  /** State partitions that are out of reach, with the reason and the way out. */
  readonly stateOutages: readonly string[];
  readonly incarnation: number;
  readonly fenced: boolean;
  readonly mirrors: readonly MirrorStatus[];
}

/** All that control does for one destination cluster: its state, its verbs and the runners of its mirrors. */
export class DestinationControl implements MirrorReader {
  readonly view: MirrorView;
  readonly verbs: VerbPort;
  readonly mirrorRole: MirrorRolePort;
  /** Resolves with the reason when another instance took over, or the state can't be written any more. */
  readonly ended: Promise<string>;
  readonly #options: DestinationControlOptions;
  readonly #ledger: Ledger;
  readonly #external: ExternalCopies;
  readonly #runners = new Map<string, MirrorRunner>();
  readonly #configs: ConfigsTask;
  readonly #yaml: YamlMirrors;
  readonly #writers: WritersTask;
  readonly #abort = new AbortController();
  readonly #background: Promise<void>[] = [];
  readonly #notes: RepeatedNotes;
  #closing: Promise<void> | null = null;

  /** The store must be open. */
  constructor(options: DestinationControlOptions) {
    const { store, surroundings } = options;
    this.#options = options;
    this.#ledger = new Ledger(store);
    this.#notes = new RepeatedNotes('', () => surroundings.now());
    this.#external = new ExternalCopies(this.#ledger, surroundings, (topic, partition) =>
      store.mayAppend(topic, partition),
    );
    this.view = new StateMirrorView(store, options.stateTopic);
    this.mirrorRole = this.#external;
    const runner = new VerbRunner(store, this.#ledger, this.#world());
    this.verbs = new MirrorVerbs(runner, this, options.clusters);
    this.#configs = new ConfigsTask(this.#ledger, surroundings.destination, () => surroundings.now());
    this.#yaml = new YamlMirrors(options.entries, store.view, runner, () => surroundings.now());
    this.#writers = new WritersTask(surroundings);
    this.ended = new Promise((resolve) => {
      store.onFenced((error) => resolve(error.message));
    });
  }

  start(): void {
    const { store } = this.#options;
    const stop = store.onChange((changes) => {
      if (changes.some(({ key }) => /^(mirror|topic|partition)\//.test(key))) this.#follow();
    });
    this.#abort.signal.addEventListener('abort', stop, { once: true });
    this.#follow();
    this.#background.push(
      this.#repeat('settings', () => this.#configs.round()),
      this.#repeat('mirrors of the file', () => this.#yaml.round()),
      this.#repeat('writers', () => this.#writers.round()),
    );
  }

  /** Stops all work, writes down how far it came, and `released` last. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { store, surroundings } = this.#options;
    this.#abort.abort();
    const ends = new Map<string, number>();
    await Promise.all(
      [...this.#runners.values()].map(async (runner) => {
        for (const [key, end] of await runner.close()) ends.set(key, end);
      }),
    );
    for (const [key, end] of this.#external.ends()) ends.set(key, end);
    surroundings.close();
    // An entry of the file may wait for its source: its command is taken or expires, whoever the owner is then.
    await within(backgroundEndMs, Promise.allSettled(this.#background), surroundings);
    await this.#ledger.settled();
    await store.close(ends);
  }

  /** A runner for every mirror that is not deleted, and a look for those there are. */
  #follow(): void {
    if (this.#abort.signal.aborted) return;
    const { store, surroundings } = this.#options;
    for (const mirror of store.view.mirrors.values()) {
      const running = this.#runners.get(mirror.name);
      if (mirror.deletedAt !== null) {
        if (running !== undefined) {
          this.#runners.delete(mirror.name);
          void running.close().catch((error: unknown) => this.#note('close', mirror.name, error));
        }
        continue;
      }
      if (running !== undefined) {
        running.kick();
        continue;
      }
      const runner = new MirrorRunner({
        mirror,
        surroundings,
        ledger: this.#ledger,
        store,
        external: this.#external,
      });
      this.#runners.set(mirror.name, runner);
      runner.start();
    }
  }

  async #repeat(task: string, round: () => Promise<void>): Promise<void> {
    const { surroundings, store } = this.#options;
    while (!this.#abort.signal.aborted && !store.fenced) {
      try {
        await round();
      } catch (error) {
        if (error instanceof StateFenced) return;
        this.#notes.tell(task, error);
      }
      await surroundings.sleep(roundMs, this.#abort.signal).catch(() => undefined);
    }
  }

  #note(task: string, mirror: string, error: unknown): void {
    syncError.publish({ mirror, task, message: textOf(error) });
  }

  #world(): VerbWorld {
    const { store, surroundings, destinationName, clusters } = this.#options;
    return {
      view: store.view,
      destination: surroundings.destination,
      destinationName,
      clusters,
      openSource: (mirror, source) => surroundings.openSource(mirror, source),
      progress: (mirror, ref) => this.#progress(mirror, ref),
      outage: (topic, partition) => store.outage(topic, partition),
      now: () => surroundings.now(),
      sleep: (ms, signal) => surroundings.sleep(ms, signal),
    };
  }

  #progress(mirror: string, ref: PartitionRef): LinkProgress | undefined {
    return this.#runners.get(mirror)?.progress(ref);
  }

  rows(mirrors: readonly string[] | null): DescribeRow[] {
    const live = {
      progress: (mirror: string, ref: PartitionRef) => this.#progress(mirror, ref),
      writersOf: (topic: string) => this.#writers.writersOf(topic),
      trouble: (mirror: string, topic: string) => this.#runners.get(mirror)?.trouble(topic) ?? null,
      outage: (topic: string, partition: number) => this.#options.store.outage(topic, partition),
      now: () => this.#options.surroundings.now(),
    };
    return describeRows(this.#options.store.view, live, mirrors);
  }

  reports(mirror: string): LossReport[] {
    const { view } = this.#options.store;
    const reports: LossReport[] = [];
    for (const topic of view.topics.values()) {
      if (topic.mirror !== mirror) continue;
      for (let partition = 0; partition < topic.partitions; partition++) {
        const record = view.partitions.get(partitionKey(topic.topic, partition));
        const report = record === undefined ? null : lossReport(record);
        if (report !== null) reports.push(report);
      }
    }
    return reports.sort((a, b) =>
      a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
    );
  }

  list(): MirrorSummary[] {
    const { view } = this.#options.store;
    return [...view.mirrors.values()]
      .filter(({ deletedAt }) => deletedAt === null)
      .map((mirror) => {
        const topics = [...view.topics.values()].filter((topic) => topic.mirror === mirror.name);
        return {
          mirror: mirror.name,
          source: mirror.source,
          sourceBootstrap: this.#options.clusters.get(mirror.source) ?? '',
          sourceClusterId: mirror.sourceClusterId,
          topics: topics.map(({ topic }) => topic).sort(),
          include: mirror.topics.include,
          exclude: mirror.topics.exclude,
          activeTopics: topics
            .filter((topic) => topic.desired !== 'STOPPED' || !isAllStopped(view, topic))
            .map(({ topic }) => topic)
            .sort(),
        };
      })
      .sort((a, b) => (a.mirror < b.mirror ? -1 : 1));
  }

  status(): ControlStatus {
    const { store, destinationName } = this.#options;
    const drift = this.#yaml.drift();
    const known = this.list().map((mirror): MirrorStatus => {
      const rows = this.rows([mirror.mirror]);
      const states: Record<string, number> = {};
      for (const { state } of rows) states[state] = (states[state] ?? 0) + 1;
      return {
        mirror: mirror.mirror,
        source: mirror.source,
        sourceClusterId: mirror.sourceClusterId,
        copier: store.view.mirrors.get(mirror.mirror)?.copier ?? 'link',
        states,
        lag: lagOf(rows),
        error:
          this.#runners.get(mirror.mirror)?.error ??
          this.#yaml.trouble(mirror.mirror) ??
          this.#outageOf(rows),
        drift: drift.filter((entry) => entry.mirror === mirror.mirror).map(({ message }) => message),
      };
    });
    const idle = this.#yaml.idle().map(
      (entry): MirrorStatus => ({
        mirror: entry.name,
        source: entry.source,
        sourceClusterId: '',
        copier: entry.copier,
        states: {},
        lag: 0,
        error: this.#yaml.trouble(entry.name) ?? 'not created yet',
        drift: [],
      }),
    );
    return {
      destination: destinationName,
      freshness: store.freshness(),
      stateOutages: [...store.outages().values()],
      incarnation: store.incarnation,
      fenced: store.fenced,
      mirrors: [...known, ...idle],
    };
  }

  /** Of verbs, which all need state partition 0, or of any partition. */
  #outageOf(rows: readonly DescribeRow[]): string | null {
    const { store } = this.#options;
    const ofAll = store.outage();
    if (ofAll !== null) return ofAll;
    for (const { topic, partition } of rows) {
      const outage = store.outage(topic, partition);
      if (outage !== null) return outage;
    }
    return null;
  }

  /** One line for the log when the process is up. */
  announce(): void {
    const { destination, incarnation, ...status } = this.status();
    const { view } = this.#options.store;
    const mirrors = status.mirrors.filter(({ mirror }) => !isDeleted(view, mirror));
    lifecycle.publish({
      level: 'info',
      message: `${destination}: ${mirrors.length} mirror${mirrors.length === 1 ? '' : 's'}`,
      fields: { incarnation, mirrors: mirrors.map(({ mirror }) => mirror) },
    });
  }
}

function lagOf(rows: readonly DescribeRow[]): number {
  const known = rows.filter(({ lag }) => lag >= 0);
  if (known.length === 0 && rows.some(({ state }) => state !== 'STOPPED')) return -1;
  return known.reduce((sum, { lag }) => sum + lag, 0);
}

const roundMs = 500;
const backgroundEndMs = 3000;
