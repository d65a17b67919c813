import { type Isthmus, startIsthmus } from '../../../src/app.ts';
import { loadText } from '../../../src/config/index.ts';
import { type VerbAnswer, type VerbRequest, askVerb } from '../../../src/cli/gateway-client.ts';
import { formatFault } from '../../../src/config/types.ts';
import type { DescribeRow } from '../../../src/control/index.ts';
import { BrokerConnection } from '../../../src/net/connection.ts';
import { freePorts } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';

export interface Ports {
  readonly gateway: number;
  readonly broker: number;
}

export async function gatewayPorts(): Promise<Ports> {
  const [gateway, broker] = await freePorts(2);
  return { gateway: gateway as number, broker: broker as number };
}

export interface YamlOptions {
  readonly source: string;
  readonly destination: string;
  readonly ports: Ports;
  readonly stateTopic: string;
  /** Lines of `mirrors:`, with their own indentation. */
  readonly mirrors?: string;
  readonly clusters?: string;
  /** More entries of `gateways:`, with their own indentation. */
  readonly gateways?: string;
}

/** One gateway in front of a destination `west` with one broker of id 1; the source is `east`. */
export function yamlOf(options: YamlOptions): string {
  const { source, destination, ports, stateTopic, mirrors = '[]', clusters = '', gateways = '' } = options;
  return `clusters:
  east: { bootstrap.servers: "${source}" }
  west: { bootstrap.servers: "${destination}" }
${clusters}
gateways:
  - name: west
    cluster: west
    role: client
    bind: 127.0.0.1:${ports.gateway}
    nodeIds: 1
    brokerPorts: ${ports.broker}
${gateways}
mirrors: ${mirrors}
state: { topic: ${stateTopic}, partitions: 3, replication.factor: 1 }
`;
}

/** The product in the test's own process, and its verbs through the gateway's Kafka port. */
export class InProcess {
  readonly #yaml: string;
  readonly #port: number;
  #isthmus: Isthmus | null = null;
  #connection: BrokerConnection | null = null;

  constructor(yaml: string, ports: Ports) {
    this.#yaml = yaml;
    this.#port = ports.gateway;
  }

  get isthmus(): Isthmus {
    if (this.#isthmus === null) throw new Error('not started');
    return this.#isthmus;
  }

  async start(): Promise<this> {
    const loaded = loadText('isthmus.yaml', this.#yaml);
    if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join('\n'));
    this.#isthmus = await startIsthmus(loaded.config, { openTimeoutMs: 30_000 });
    await this.#isthmus.ready;
    return this;
  }

  async connection(): Promise<BrokerConnection> {
    if (this.#connection === null || !this.#connection.isOpen) {
      this.#connection = await BrokerConnection.connect({
        host: '127.0.0.1',
        port: this.#port,
        clientId: 'control-test',
      });
    }
    return this.#connection;
  }

  async ask(verb: string, request: Partial<VerbRequest> = {}): Promise<VerbAnswer> {
    return askVerb(await this.connection(), { verb, ...request });
  }

  /** @throws Error with the answer's text when it is not ok */
  async done(verb: string, request: Partial<VerbRequest> = {}): Promise<VerbAnswer> {
    const answer = await this.ask(verb, request);
    if (!answer.ok) throw new Error(`${verb}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async rows(mirror: string): Promise<DescribeRow[]> {
    return ((await this.done('describe', { mirror })).describe ?? []) as unknown as DescribeRow[];
  }

  /** Waits until every partition of the mirror satisfies `good`. */
  async untilRows(mirror: string, what: string, good: (row: DescribeRow) => boolean): Promise<DescribeRow[]> {
    let last: DescribeRow[] = [];
    try {
      return await until(
        `every partition of ${mirror} ${what}`,
        async () => {
          last = await this.rows(mirror);
          return last.length > 0 && last.every(good) && last;
        },
        { timeoutMs: 45_000, everyMs: 100 },
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${JSON.stringify(last, null, 1)}`, { cause: error });
    }
  }

  untilCaughtUp(mirror: string): Promise<DescribeRow[]> {
    return this.untilRows(
      mirror,
      'is MIRRORING with lag 0',
      ({ state, lag }) => state === 'MIRRORING' && lag === 0,
    );
  }

  untilState(mirror: string, state: string): Promise<DescribeRow[]> {
    return this.untilRows(mirror, `is ${state}`, (row) => row.state === state);
  }

  async stop(): Promise<void> {
    this.#connection?.end();
    this.#connection = null;
    await this.#isthmus?.close();
    this.#isthmus = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
