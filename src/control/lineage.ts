import type { MirroredTopic } from './ports.ts';
import { textOf } from '../net/error-text.ts';

/** A cluster of a chain of mirrors, and what its own state topic says. */
export interface ChainCluster {
  readonly name: string;
  readonly clusterId: string;
  /** @throws Error saying why it can't be read */
  mirroredTopics(): Promise<readonly MirroredTopic[]>;
}

/** The cluster of that id, or why nothing can be asked of it. */
export type FindCluster = (clusterId: string) => Promise<ChainCluster | { readonly unknown: string }>;

export interface Lineage {
  /** Topics that come from the destination itself, with the whole way: `west -> south -> east -> west`. */
  readonly loops: ReadonlyMap<string, string>;
  /** What could not be found out. */
  readonly notes: readonly string[];
}

/**
 * Where topics of a source come from: its own state topic, then that of the cluster it mirrors them from, and so on
 * as far as the configured clusters go. A topic that began at the destination would be mirrored in a circle. Judged
 * topic by topic; STOPPED ones don't count.
 */
export async function findLoops(
  topics: readonly string[],
  source: ChainCluster,
  destination: { readonly name: string; readonly clusterId: string },
  find: FindCluster,
): Promise<Lineage> {
  const loops = new Map<string, string>();
  const notes: string[] = [];

  /** @param way from `cluster` to the destination, both included */
  const follow = async (asked: readonly string[], cluster: ChainCluster, way: readonly ChainCluster[]) => {
    const here = way.map(({ name }) => name).join(' -> ');
    let mirrored: readonly MirroredTopic[];
    try {
      mirrored = await cluster.mirroredTopics();
    } catch (error) {
      const before = way.length === 1 ? 'these topics' : asked.join(', ');
      notes.push(`whether ${cluster.name} mirrors ${before} from here is not known: ${textOf(error)}`);
      return;
    }
    const wanted = new Set(asked);
    const active = mirrored.filter(({ topic, active: isActive }) => isActive && wanted.has(topic));
    for (const [from, some] of Map.groupBy(active, ({ sourceClusterId }) => sourceClusterId)) {
      const names = some.map(({ topic }) => topic).sort();
      if (from === destination.clusterId) {
        for (const name of names) loops.set(name, `${destination.name} -> ${here} -> ${destination.name}`);
        continue;
      }
      // a circle of others, which does not pass through here
      if (way.some(({ clusterId }) => clusterId === from)) continue;
      const next = await find(from);
      if ('unknown' in next) {
        notes.push(
          `${names.join(', ')} of ${cluster.name} is a mirror of cluster id ${from}; whether it comes from ` +
            `${destination.name} is not known: ${next.unknown}`,
        );
        continue;
      }
      await follow(names, next, [next, ...way]);
    }
  };

  if (topics.length > 0) await follow(topics, source, [source]);
  return { loops, notes };
}

/** What opens a cluster of the configuration. */
export interface OpenedCluster extends ChainCluster {
  close(): Promise<void>;
}

/**
 * The configured clusters by their ids. They are reached only when a chain leads past the source, all at once, and
 * one that is silent costs `timeoutMs`, not the verb.
 */
export class ConfiguredClusters {
  readonly #names: readonly string[];
  readonly #open: (name: string) => Promise<OpenedCluster>;
  readonly #inTime: <T>(opening: Promise<T>) => Promise<T>;
  readonly #opened: OpenedCluster[] = [];
  readonly #faults: string[] = [];
  #reached: Promise<void> | null = null;
  #closed = false;

  constructor(
    names: readonly string[],
    open: (name: string) => Promise<OpenedCluster>,
    inTime: <T>(opening: Promise<T>) => Promise<T>,
  ) {
    this.#names = names;
    this.#open = open;
    this.#inTime = inTime;
  }

  readonly find: FindCluster = async (clusterId) => {
    this.#reached ??= this.#reach();
    await this.#reached;
    const found = this.#opened.find((cluster) => cluster.clusterId === clusterId);
    if (found !== undefined) {
      return { ...found, mirroredTopics: () => this.#inTime(found.mirroredTopics()) };
    }
    const silent =
      this.#faults.length === 0 ? '' : `, and not all could be asked (${this.#faults.join('; ')})`;
    return { unknown: `no cluster of the configuration has that id${silent}` };
  };

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#opened.map((cluster) => cluster.close()));
  }

  async #reach(): Promise<void> {
    await Promise.all(
      this.#names.map(async (name) => {
        const opening = this.#open(name).then(async (cluster) => {
          // it came too late to be of use
          if (this.#closed) await cluster.close();
          else this.#opened.push(cluster);
        });
        await this.#inTime(opening).catch((error: unknown) => this.#faults.push(`${name}: ${textOf(error)}`));
      }),
    );
  }
}
