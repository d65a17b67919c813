import type { TestProject } from 'vitest/node';
import { type JavaProcess, startHelperHost } from './java.ts';
import { compileHelpers } from './java-classes.ts';
import { announceHost } from './java-host.ts';
import { type KafkaCluster, startCluster } from './kafka-cluster.ts';
import type { KafkaVersion } from './kafka-home.ts';

/** What a test learns of a cluster that all real-broker suites share: it must not stop it, and uses its own topics. */
export interface SharedCluster {
  version: KafkaVersion;
  bootstrap: string;
  clusterId: string;
  /** Broker id -> folder of its partition folders. */
  logDirs: Record<number, string>;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** One single-broker cluster of each release; `inject('clusters')` in a test. */
    clusters: { kafka44: SharedCluster; kafka39: SharedCluster };
  }
}

interface Pair {
  kafka44: KafkaCluster;
  kafka39: KafkaCluster;
  hosts: JavaProcess[];
}

// Several projects name this file as their global set-up, each with its own copy of the module: the pair is kept where
// all copies see it, and ends with the last user.
const shelf = globalThis as { isthmusClusters?: { pair: Promise<Pair>; users: number } };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shelf.isthmusClusters ??= { pair: startPair(), users: 0 };
  const shared = shelf.isthmusClusters;
  shared.users++;
  const { kafka44, kafka39, hosts } = await shared.pair;
  project.provide('clusters', { kafka44: describe(kafka44), kafka39: describe(kafka39) });
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete shelf.isthmusClusters;
    await Promise.all([kafka44.destroy(), kafka39.destroy(), ...hosts.map((host) => host.kill())]);
  };
}

async function startPair(): Promise<Pair> {
  const [kafka44, kafka39, ...hosts] = await Promise.all([
    startCluster({ version: '4.4.0' }),
    startCluster({ version: '3.9.1' }),
    startHost('4.4.0'),
    startHost('3.9.1'),
  ]);
  return { kafka44, kafka39, hosts };
}

async function startHost(version: KafkaVersion): Promise<JavaProcess> {
  await compileHelpers(version);
  const { port, java } = await startHelperHost(version);
  announceHost(version, port);
  return java;
}

function describe(cluster: KafkaCluster): SharedCluster {
  return {
    version: cluster.version,
    bootstrap: cluster.bootstrap,
    clusterId: cluster.clusterId,
    logDirs: Object.fromEntries(cluster.brokers.map((broker) => [broker.id, broker.logDir])),
  };
}
