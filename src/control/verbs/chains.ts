import { ConfiguredClusters, findLoops, type Lineage } from '../lineage.ts';
import type { SourceSession } from '../ports.ts';
import type { MirrorRecord } from '../state/types.ts';
import { inTime } from '../within.ts';
import type { VerbWorld } from './types.ts';

/** The chains that the topics come through, read while the plan is made. */
export async function lineageOf(
  world: VerbWorld,
  mirror: MirrorRecord,
  session: SourceSession,
  topics: readonly string[],
): Promise<Lineage> {
  const others = [...world.clusters.keys()].filter(
    (name) => name !== mirror.source && name !== world.destinationName,
  );
  const open = async (name: string) => {
    const opened = await world.openSource(mirror.name, name);
    return chainCluster(opened, await opened.admin.clusterId());
  };
  const clusters = new ConfiguredClusters(others, open, (opening) =>
    inTime(chainMs, opening, world, tooLate),
  );
  try {
    const [source, clusterId] = await Promise.all([session.admin.clusterId(), world.destination.clusterId()]);
    const destination = { name: world.destinationName, clusterId };
    return await findLoops(topics, chainCluster(session, source), destination, clusters.find);
  } finally {
    await clusters.close();
  }
}

function chainCluster(session: SourceSession, clusterId: string) {
  return {
    name: session.admin.name,
    clusterId,
    mirroredTopics: () => session.mirroredTopics(),
    close: () => session.close(),
  };
}

/** A cluster of the chain that hangs must not use up the time of the plan. */
const chainMs = 5000;
const tooLate = () => new Error(`no answer within ${chainMs / 1000} s`);
