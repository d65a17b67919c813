import type { LinkSettings } from '../link/index.ts';
import type { Cluster } from '../net/cluster.ts';
import { DestinationControl } from './destination-control.ts';
import { tellOtherStates } from './other-states.ts';
import { KafkaSurroundings } from './surroundings.ts';
import { TopicStateStore } from './state/index.ts';
import type { MirrorEntry } from './yaml-mirrors.ts';

export interface OpenControlOptions {
  /** Name of the destination in the configuration. */
  readonly destinationName: string;
  /** Its client; it stays the caller's to close. */
  readonly destination: Cluster;
  readonly state: { readonly topic: string; readonly partitions: number; readonly replicationFactor: number };
  /** Configured clusters with their `bootstrap.servers`. */
  readonly clusters: ReadonlyMap<string, string>;
  /** A new client of a configured cluster; undefined for another name. */
  openCluster(name: string): Cluster | undefined;
  readonly entries: readonly MirrorEntry[];
  linkSettings(mirror: string): Partial<LinkSettings>;
  readonly openTimeoutMs?: number;
  /** Ends the opening. */
  readonly signal?: AbortSignal;
}

/**
 * Takes over the state of a destination (an older instance is fenced), reads it, and begins to act on it.
 * @throws StateUnusable, StateFenced
 */
export async function openControl(options: OpenControlOptions): Promise<DestinationControl> {
  const { destination, state, openTimeoutMs } = options;
  const store = new TopicStateStore({
    cluster: destination,
    settings: state,
    ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
  });
  const surroundings = new KafkaSurroundings({
    destination,
    stateTopic: state.topic,
    openCluster: options.openCluster,
    linkSettings: options.linkSettings,
    mayAppend: (topic, partition) => store.mayAppend(topic, partition),
    view: store.view,
  });
  const giveUp = (): void => void store.close();
  options.signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await store.open();
  } finally {
    options.signal?.removeEventListener('abort', giveUp);
  }
  void tellOtherStates(destination, state.topic, surroundings.closed);
  const control = new DestinationControl({
    destinationName: options.destinationName,
    stateTopic: state.topic,
    store,
    surroundings,
    clusters: options.clusters,
    entries: options.entries,
  });
  control.start();
  return control;
}
