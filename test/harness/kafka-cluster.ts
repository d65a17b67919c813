import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePorts } from './free-port.ts';
import { KafkaBroker } from './kafka-broker.ts';
import type { KafkaVersion } from './kafka-home.ts';
import { type TempDir, tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import { probeBrokers } from './wire-probe.ts';

export type ServerProperties = Readonly<Record<string, string | number | boolean>>;

export interface BrokerPorts {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

export interface ClusterOptions {
  version?: KafkaVersion;
  /** How many brokers, each also a controller. Ids run from `firstId` on. */
  brokers?: number;
  firstId?: number;
  /** Server properties, over the harness's own; a function when they differ from broker to broker. */
  properties?: ServerProperties | ((broker: BrokerPorts) => ServerProperties);
  heapMb?: number;
  /** Full optimisation by the JVM, a third more CPU to start: for benches and long runs. */
  longLived?: boolean;
  clusterId?: string;
  startTimeoutMs?: number;
}

const HOST = '127.0.0.1';

/** Starts a real Kafka cluster on free ports and gives it back once every broker serves and knows all others. */
export async function startCluster(options: ClusterOptions = {}): Promise<KafkaCluster> {
  for (let attempt = 1; ; attempt++) {
    const cluster = await layOut(options);
    try {
      await cluster.startAll();
      return cluster;
    } catch (error) {
      const portTaken = cluster.brokers.some((broker) => /Address already in use/.test(broker.log(200)));
      await cluster.destroy();
      if (!portTaken || attempt === 3) throw error;
    }
  }
}

async function layOut(options: ClusterOptions): Promise<KafkaCluster> {
  const { version = '4.4.0', brokers: count = 1, firstId = 1, heapMb = 512, longLived = false } = options;
  const clusterId = options.clusterId ?? randomBytes(16).toString('base64url').replace(/^-/, 'A');
  const dir = tempDir(`kafka-${version}`);
  const ports = await freePorts(2 * count);
  const voters = Array.from({ length: count }, (_, i) => `${firstId + i}@${HOST}:${ports[count + i]}`);
  const brokers = voters.map((_, i) => {
    const port = ports[i] as number;
    const controllerPort = ports[count + i] as number;
    const given =
      typeof options.properties === 'function'
        ? options.properties({ id: firstId + i, port, controllerPort })
        : (options.properties ?? {});
    const properties: Record<string, string> = {
      ...baseProperties(count),
      'node.id': String(firstId + i),
      'controller.quorum.voters': voters.join(','),
      listeners: `PLAINTEXT://${HOST}:${port},CONTROLLER://${HOST}:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://${HOST}:${port}`,
    };
    for (const [name, value] of Object.entries(given)) properties[name] = String(value);
    const brokerDir = join(dir.path, `broker-${firstId + i}`);
    return new KafkaBroker({
      version,
      id: firstId + i,
      host: HOST,
      port,
      dir: brokerDir,
      heapMb,
      longLived,
      properties,
    });
  });
  await Promise.all(brokers.map((broker) => broker.format(clusterId)));
  return new KafkaCluster(version, clusterId, brokers, dir, options.startTimeoutMs ?? 60_000);
}

function baseProperties(brokers: number): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'auto.create.topics.enable': 'false',
    'default.replication.factor': String(brokers),
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '2',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '4',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    // After kill -9 a broker may register again only when its old session is over, 9 s later by default.
    'broker.session.timeout.ms': '4000',
    'broker.heartbeat.interval.ms': '800',
    'num.io.threads': '4',
    'num.network.threads': '2',
    'log.retention.check.interval.ms': '300000',
  };
}

/** A running (or stopped) cluster of real brokers. Broker ids address `kill`, `stopBroker` and `start`. */
export class KafkaCluster {
  readonly version: KafkaVersion;
  /** 22 characters, as Kafka prints it. */
  readonly clusterId: string;
  readonly brokers: readonly KafkaBroker[];
  readonly #dir: TempDir;
  readonly #startTimeoutMs: number;

  constructor(
    version: KafkaVersion,
    clusterId: string,
    brokers: readonly KafkaBroker[],
    dir: TempDir,
    ms: number,
  ) {
    this.version = version;
    this.clusterId = clusterId;
    this.brokers = brokers;
    this.#dir = dir;
    this.#startTimeoutMs = ms;
  }

  /** `host:port` of every broker, as for `bootstrap.servers`. */
  get bootstrap(): string {
    return this.brokers.map(({ host, port }) => `${host}:${port}`).join(',');
  }

  broker(id: number): KafkaBroker {
    const broker = this.brokers.find((one) => one.id === id);
    if (broker === undefined) throw new Error(`no broker ${id} in this cluster`);
    return broker;
  }

  /** Starts every broker that does not run, on the data that it left, and waits until all serve. */
  async startAll(): Promise<void> {
    const stopped = this.brokers.filter((broker) => !broker.running);
    for (const broker of stopped) broker.start();
    await Promise.all(stopped.map((broker) => this.#serving(broker)));
  }

  async start(id: number): Promise<void> {
    const broker = this.broker(id);
    broker.start();
    await this.#serving(broker);
  }

  /** kill -9. */
  async kill(id: number): Promise<void> {
    await this.broker(id).kill();
  }

  /** Controlled shutdown of one broker. */
  async stopBroker(id: number): Promise<void> {
    await this.broker(id).stop();
  }

  /** Ends all brokers, data kept: `startAll` brings the same cluster back. */
  async stop({ gently = false } = {}): Promise<void> {
    await Promise.all(this.brokers.map((broker) => (gently ? broker.stop() : broker.kill())));
  }

  /** Ends all brokers and removes their data. */
  async destroy(): Promise<void> {
    await this.stop();
    this.#dir.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  /** Last lines of each broker's log, for the message of a failed check. */
  logExcerpt(lines = 20): string {
    return this.brokers.map((broker) => `--- broker ${broker.id}\n${broker.log(lines)}`).join('\n');
  }

  async #serving(broker: KafkaBroker): Promise<void> {
    const look = async () => {
      if (!broker.running) return 'ended' as const;
      const known = await probeBrokers(broker.host, broker.port);
      const running = this.brokers.filter((one) => one.running);
      return running.every((one) => known.includes(one.id)) && ('serves' as const);
    };
    const what = `broker ${broker.id} of Kafka ${this.version} serves`;
    const outcome = await until(what, look, { timeoutMs: this.#startTimeoutMs, everyMs: 50 }).catch(
      (error: unknown) => {
        throw new Error(`${(error as Error).message}\n${broker.log()}`, { cause: error });
      },
    );
    if (outcome === 'ended') throw new Error(`broker ${broker.id} ended while starting\n${broker.log()}`);
  }
}
