import type { Config } from '../config/types.ts';
import { type Reached, reach } from './check-cluster.ts';
import { checkMirror, type Claims, type StateReaders } from './check-mirror.ts';
import { CheckReport } from './check-report.ts';
import type { Io } from './io.ts';
import { textOf } from '../net/error-text.ts';

/**
 * `check --connect`: every cluster reached, its version and our rights judged by what the mirrors need of it, loops
 * looked for, and a plan for each mirror. Changes nothing.
 * @returns number of faults told
 */
export async function checkConnected(config: Config, readers: StateReaders, io: Io): Promise<number> {
  const reached = new Map<string, Reached>();
  let faults = 0;
  try {
    // all at once, told in the order of the file
    const looks = [...config.clusters.values()].map(async (cluster) => {
      const report = new CheckReport();
      return { found: await reach(cluster, config, report), report };
    });
    for (const { found, report } of await Promise.all(looks)) {
      if (found !== null) reached.set(found.name, found);
      faults += report.print(io);
    }
    const claims: Claims = new Map();
    for (const mirror of config.mirrors) {
      const report = new CheckReport();
      await checkMirror(mirror, reached, config, readers, claims, report).catch((error: unknown) =>
        report.fault(`mirror ${mirror.name}`, textOf(error)),
      );
      faults += report.print(io);
    }
    const report = new CheckReport();
    checkGateways(config, reached, report);
    return faults + report.print(io);
  } finally {
    await Promise.all([...reached.values()].map(({ cluster }) => cluster.close()));
  }
}

function checkGateways(config: Config, reached: ReadonlyMap<string, Reached>, report: CheckReport): void {
  for (const gateway of config.gateways) {
    const nodes = reached.get(gateway.cluster)?.cluster.brokers() ?? [];
    const outside = nodes
      .filter(({ nodeId }) => !gateway.brokerPorts.has(nodeId))
      .map(({ nodeId }) => nodeId);
    if (outside.length === 0) continue;
    report.fault(
      `gateway ${gateway.name}`,
      `brokers ${outside.join(', ')} of ${gateway.cluster} have no port; widen nodeIds and brokerPorts, or their partitions are shown leaderless`,
    );
  }
}
