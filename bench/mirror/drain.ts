import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Isthmus } from '../../test/harness/isthmus.ts';
import type { KafkaCluster } from '../../test/harness/kafka-cluster.ts';
import { cpuSeconds, peakRssBytes } from './process-figures.ts';

export interface DrainOptions {
  readonly source: KafkaCluster;
  readonly destination: KafkaCluster;
  readonly topic: string;
  /** Bytes that the topic has at the source. */
  readonly bytes: number;
  readonly partitions: number;
  /** Each run has a state topic of its own, so that the topic may be deleted and mirrored again. */
  readonly run: number;
  readonly nodeArgs: readonly string[];
  readonly signal: AbortSignal;
}

export interface Drained {
  /** From the last look that found nothing at the destination to the first that found all. */
  readonly seconds: number;
  /** Processor time of the Isthmus process within them, less what it takes when idle. */
  readonly cpuSeconds: number;
  readonly idleCpuPerSecond: number;
  /** Processor time from the start of the process to the first byte: Node, modules, state, recovery. */
  readonly startCpuSeconds: number;
  readonly peakRssBytes: number;
}

const LOOK_MS = 20;
const IDLE_MS = 3_000;
const STALL_MS = 60_000;

/** Mirrors a topic with an Isthmus process of its own until the destination has as many bytes as the source. */
export async function drain(options: DrainOptions): Promise<Drained> {
  const { destination, bytes, nodeArgs, signal } = options;
  const isthmus = new Isthmus({ config: configOf(options), nodeArgs });
  try {
    await isthmus.start(60_000);
    const pid = isthmus.pid as number;
    const stored = (): number => storedBytes(destination, options.topic, options.partitions);
    let before = { at: performance.now(), cpu: cpuSeconds(pid) };
    let moved = { at: performance.now(), bytes: 0 };
    for (;;) {
      const now = stored();
      if (now === 0) before = { at: performance.now(), cpu: cpuSeconds(pid) };
      if (now >= bytes) break;
      if (now > moved.bytes) moved = { at: performance.now(), bytes: now };
      if (!isthmus.running || performance.now() - moved.at > STALL_MS) {
        throw new Error(`the drain stands at ${now} of ${bytes} bytes\n${isthmus.excerpt()}`);
      }
      await sleep(LOOK_MS, undefined, { signal });
    }
    const after = { at: performance.now(), cpu: cpuSeconds(pid) };
    if (stored() !== bytes) throw new Error(`${stored()} bytes are stored, the source has ${bytes}`);
    await sleep(IDLE_MS, undefined, { signal });
    const idleCpuPerSecond = (cpuSeconds(pid) - after.cpu) / (IDLE_MS / 1000);
    const seconds = (after.at - before.at) / 1000;
    const peak = peakRssBytes(pid);
    // The profile of `nodeArgs`, if one is asked for, is written at a clean end only.
    await isthmus.stop();
    return {
      seconds,
      cpuSeconds: after.cpu - before.cpu - idleCpuPerSecond * seconds,
      idleCpuPerSecond,
      startCpuSeconds: before.cpu,
      peakRssBytes: peak,
    };
  } finally {
    await isthmus.destroy();
  }
}

/** Bytes in the segment files of a topic: asking the file system costs neither broker nor Isthmus anything. */
export function storedBytes(cluster: KafkaCluster, topic: string, partitions: number): number {
  let bytes = 0;
  for (let partition = 0; partition < partitions; partition++) {
    const dir = join(cluster.brokers[0]?.logDir ?? '', `${topic}-${partition}`);
    try {
      for (const name of readdirSync(dir)) if (name.endsWith('.log')) bytes += statSync(join(dir, name)).size;
    } catch {
      // Not created yet.
    }
  }
  return bytes;
}

function configOf({ source, destination, topic, run }: DrainOptions): string {
  return `clusters:
  east: { bootstrap.servers: "${source.bootstrap}" }
  west: { bootstrap.servers: "${destination.bootstrap}" }
mirrors:
  - name: bench
    source: east
    destination: west
    topics: { include: [${topic}] }
state: { topic: __mirror_state_${run}, partitions: 1, replication.factor: 1 }
`;
}
