import { flags } from '../test/harness/flags.ts';
import { freePort, freePortRange } from '../test/harness/free-port.ts';
import { Isthmus } from '../test/harness/isthmus.ts';
import { runJava } from '../test/harness/java.ts';
import { type KafkaCluster, startCluster } from '../test/harness/kafka-cluster.ts';
import { type ProxiedCluster, startProxiedCluster } from '../test/harness/proxied-cluster.ts';

export const TOPIC = 'orders';
export const PARTITIONS = 4;
export const MIRROR = 'east-to-west';

/**
 * Everything that runs in the demo: `east` (Kafka 4.4.0, the source), `west` (Kafka 3.9.1, the destination) and
 * Isthmus between them. Isthmus reaches west through a proxy that can keep back a reply, so that it can be killed
 * at a moment when a request is certainly in flight; every reader that checks something goes past that proxy.
 */
export interface Stage {
  readonly east: KafkaCluster;
  readonly west: ProxiedCluster;
  readonly isthmus: Isthmus;
  /** The gateway's bootstrap address: where applications and tools connect. */
  readonly gateway: string;
  /** The same without the proxy, which ends with the demo's own process. */
  readonly directConfig: string;
  destroy(): Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const started = await Promise.allSettled([
    startCluster({ version: '4.4.0' }),
    startProxiedCluster({ version: '3.9.1' }),
  ]);
  const [east, west] = started;
  if (east.status === 'rejected' || west.status === 'rejected') {
    if (east.status === 'fulfilled') await east.value.destroy();
    if (west.status === 'fulfilled') await west.value.destroy();
    throw east.status === 'rejected' ? east.reason : (west as PromiseRejectedResult).reason;
  }
  const gatewayPort = await freePort();
  const brokerPort = await freePortRange(1);
  const configFor = (bootstrap: string) => yaml(east.value, bootstrap, gatewayPort, brokerPort);
  const config = configFor(west.value.bootstrapThroughProxy);
  const isthmus = new Isthmus({ config });
  return {
    east: east.value,
    west: west.value,
    isthmus,
    gateway: `127.0.0.1:${gatewayPort}`,
    directConfig: configFor(west.value.cluster.bootstrap),
    destroy: async () => {
      await isthmus.destroy();
      await Promise.all([east.value.destroy(), west.value.destroy()]);
    },
  };
}

function yaml(east: KafkaCluster, west: string, gatewayPort: number, brokerPort: number): string {
  return `clusters:
  east: { bootstrap.servers: "${east.bootstrap}" }
  west: { bootstrap.servers: "${west}" }
gateways:
  - { name: west, cluster: west, bind: "127.0.0.1:${gatewayPort}", nodeIds: 1, brokerPorts: ${brokerPort} }
mirrors:
  - { name: ${MIRROR}, source: east, destination: west, topics: { include: [${TOPIC}] } }
state: { topic: __mirror_state, partitions: 4, replication.factor: 1 }
`;
}

/** Creates the source topic with settings that must come back at the end. */
export async function createTopic(stage: Stage, settings: Readonly<Record<string, string>>): Promise<void> {
  const configs = Object.entries(settings).flatMap(([name, value]) => ['--config', `${name}=${value}`]);
  const topic = flags({ bootstrap: stage.east.bootstrap, topic: TOPIC, partitions: PARTITIONS });
  await runJava('4.4.0', 'AdminTool.java', ['create', ...topic, ...configs]);
}

/**
 * Has the cluster that lags hand out producer ids, and then the other one too, until both come to the same next id.
 * The writers of the source get their ids from there on.
 */
export async function levelIds(stage: Stage): Promise<number> {
  const eastLast = await burn('4.4.0', stage.east.bootstrap, ['--count', '1']);
  const westLast = await burn('3.9.1', stage.west.cluster.bootstrap, ['--count', '1']);
  // Isthmus itself draws a few more ids at west before the failover (one for each start).
  const next = Math.max(eastLast, westLast) + 60;
  await burn('4.4.0', stage.east.bootstrap, ['--next', `${next}`]);
  return next;
}

/** Before the writers at west begin: the ids that their cluster hands out begin where the source's writers began. */
export async function lagNoMore(stage: Stage, next: number): Promise<void> {
  await burn('3.9.1', stage.west.cluster.bootstrap, ['--next', `${next}`]);
}

async function burn(version: '4.4.0' | '3.9.1', bootstrap: string, args: readonly string[]): Promise<number> {
  const [line = '{}'] = await runJava(version, 'BurnIds.java', ['--bootstrap', bootstrap, ...args]);
  return (JSON.parse(line) as { last: number }).last;
}
