import type { Config, MirrorConfig } from './config/types.ts';
import {
  type ControlStatus,
  type DescribeRow,
  type DestinationControl,
  LateControl,
  openControl,
} from './control/index.ts';
import { type Gateway, type GatewaySnapshot, startGateway } from './gateway/index.ts';
import type { LinkSettings } from './link/index.ts';
import { Cluster } from './net/cluster.ts';
import { lifecycle } from './observe/channels.ts';
import { textOf } from './net/error-text.ts';

export interface StartOptions {
  /** For reaching one destination and reading its state; then `ready` rejects. Default: for ever and 60 s. */
  readonly openTimeoutMs?: number;
}

export interface Isthmus {
  /** Resolves when all ports are bound, every destination is reached and its state read. Rejects when that can't be. */
  readonly ready: Promise<void>;
  /** Resolves with the reason when it can't go on: another instance took a destination over. */
  readonly ended: Promise<string>;
  /** Bootstrap addresses by gateway. */
  readonly gateways: ReadonlyMap<string, { readonly host: string; readonly port: number }>;
  readonly adminPort: number | null;
  rows(): DescribeRow[];
  status(): IsthmusStatus;
  /** Clean stop: clients first, then links, then states with `released`. */
  close(): Promise<void>;
}

export interface IsthmusStatus {
  readonly ready: boolean;
  /** What is still missing, one sentence each. */
  readonly waitingFor: readonly string[];
  readonly gateways: readonly GatewaySnapshot[];
  readonly destinations: readonly ControlStatus[];
}

/**
 * The whole process from its configuration: ports first, all or none; then every destination is reached, its state
 * taken over and read, and its mirrors run. A source that can't be reached delays nothing.
 *
 * @throws Error when a port can't be bound or a cluster's properties can't be honoured; nothing is left open then
 */
export async function startIsthmus(config: Config, options: StartOptions = {}): Promise<Isthmus> {
  const parts: { close(): Promise<void> }[] = [];
  try {
    return await assemble(config, options, parts);
  } catch (error) {
    for (const part of parts.toReversed()) await part.close().catch(() => undefined);
    throw error;
  }
}

async function assemble(
  config: Config,
  options: StartOptions,
  parts: { close(): Promise<void> }[],
): Promise<Isthmus> {
  const abort = new AbortController();
  const destinations = new Map<string, Destination>();
  const namesById = new Map<string, string>();
  for (const name of destinationsOf(config)) {
    const destination = new Destination(config, name, namesById);
    destinations.set(name, destination);
    parts.push(destination);
  }
  const gateways: Gateway[] = [];
  parts.push({ close: async () => void (await Promise.all(gateways.map((gateway) => gateway.close()))) });
  for (const file of config.gateways) {
    const destination = destinations.get(file.cluster);
    if (destination === undefined) continue;
    const { cluster, late } = destination;
    gateways.push(
      await startGateway({
        config: file,
        cluster,
        view: late.view,
        verbs: late.verbs,
        mirrorRole: late.mirrorRole,
      }),
    );
  }
  let ready = false;
  const waitingFor = (): string[] =>
    [...destinations.values()].filter(({ control }) => control === null).map(({ waitingFor: why }) => why);
  const rows = (): DescribeRow[] =>
    [...destinations.values()].flatMap(({ control }) => control?.rows(null) ?? []);
  const adminPort = await startAdminFor(config, parts, () => ({ ready, waitingFor: waitingFor() }), rows);

  const opening = [...destinations.values()].map((destination) => destination.open(options, abort.signal));
  const allOpen = Promise.all(opening).then(() => {
    ready = true;
    for (const { control } of destinations.values()) control?.announce();
  });
  allOpen.catch(() => undefined);
  const ended = Promise.race([...destinations.values()].map((destination) => destination.ended));
  let closing: Promise<void> | null = null;
  return {
    ready: allOpen,
    ended,
    gateways: new Map(gateways.map(({ name, addresses }) => [name, addresses.bootstrap])),
    adminPort,
    rows,
    status: () => ({
      ready,
      waitingFor: waitingFor(),
      gateways: gateways.map((gateway) => gateway.snapshot()),
      destinations: [...destinations.values()].flatMap(({ control }) => control?.status() ?? []),
    }),
    close() {
      closing ??= (async () => {
        lifecycle.publish({ level: 'info', message: 'stopping' });
        ready = false;
        abort.abort();
        const opened = new AbortController();
        await Promise.race([Promise.allSettled(opening), pause(openingEndMs, opened.signal)]);
        opened.abort();
        for (const part of parts.toReversed()) await part.close();
        lifecycle.publish({ level: 'info', message: 'stopped' });
      })();
      return closing;
    },
  };
}

/** One destination cluster: its client, and its control once it could be reached. */
class Destination {
  readonly cluster: Cluster;
  readonly late = new LateControl();
  readonly #config: Config;
  readonly #name: string;
  /** Cluster ids of all destinations as they are reached. */
  readonly #namesById: Map<string, string>;
  readonly #ended = Promise.withResolvers<string>();
  #control: DestinationControl | null = null;
  #why: string;

  constructor(config: Config, name: string, namesById: Map<string, string>) {
    this.#config = config;
    this.#namesById = namesById;
    this.#name = name;
    this.#why = `cluster ${name} was not reached yet`;
    this.cluster = openCluster(config, name);
    this.late.stateTopic = config.state.topic;
  }

  get control(): DestinationControl | null {
    return this.#control;
  }

  get waitingFor(): string {
    return this.#why;
  }

  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** @throws what makes the state unusable, for example a topic with another number of partitions */
  async open(options: StartOptions, signal: AbortSignal): Promise<void> {
    const { openTimeoutMs } = options;
    await this.#reach(signal, openTimeoutMs);
    this.#why = `the state of ${this.#name} was not read yet`;
    if (signal.aborted) return;
    this.#checkNotTwice();
    const control = await openControl({
      destinationName: this.#name,
      destination: this.cluster,
      state: this.#config.state,
      clusters: new Map(
        [...this.#config.clusters.values()].map(({ name, bootstrap }) => [name, serversOf(bootstrap)]),
      ),
      openCluster: (name) => (this.#config.clusters.has(name) ? openCluster(this.#config, name) : undefined),
      entries: this.#config.mirrors.filter(({ destination }) => destination === this.#name),
      linkSettings: (mirror) => linkSettings(this.#config, mirror),
      signal,
      ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }),
    });
    this.#control = control;
    void control.ended.then((reason) => this.#ended.resolve(reason));
    this.late.arrived(control);
  }

  async close(): Promise<void> {
    this.late.close();
    await this.#control?.close();
    await this.cluster.close();
  }

  /** Under two names we would take the state over from ourselves. */
  #checkNotTwice(): void {
    const id = this.cluster.clusterId ?? '';
    const other = this.#namesById.get(id);
    if (other !== undefined) {
      throw new Error(
        `clusters ${other} and ${this.#name} are the same cluster (cluster id ${id}): ` +
          'give all its gateways and mirrors one name of the two',
      );
    }
    this.#namesById.set(id, this.#name);
  }

  /** Waits for the cluster as long as it takes: brokers may be started after us. */
  async #reach(signal: AbortSignal, timeoutMs: number | undefined): Promise<void> {
    const until = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
    for (let attempts = 1; !signal.aborted; attempts++) {
      try {
        await this.cluster.connect();
        return;
      } catch (error) {
        const message = textOf(error);
        this.#why = message;
        if (performance.now() > until) throw error;
        if (attempts === 1) lifecycle.publish({ level: 'warn', message: `${message}; trying again` });
        await pause(reachPauseMs, signal);
      }
    }
  }
}

const reachPauseMs = 1000;
const openingEndMs = 3000;

function destinationsOf(config: Config): Set<string> {
  return new Set([
    ...config.gateways.map(({ cluster }) => cluster),
    ...config.mirrors.map(({ destination }) => destination),
  ]);
}

function openCluster(config: Config, name: string): Cluster {
  const cluster = config.clusters.get(name);
  if (cluster === undefined) throw new Error(`cluster ${name} is not in the configuration`);
  return new Cluster({ name, properties: cluster.properties });
}

function serversOf(bootstrap: readonly { readonly host: string; readonly port: number }[]): string {
  return bootstrap.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
}

/** Of the YAML entry; a mirror made by a verb runs with the defaults of the file. */
function linkSettings(config: Config, mirror: string): Partial<LinkSettings> {
  const entry: MirrorConfig | undefined = config.mirrors.find(({ name }) => name === mirror);
  return { ...(entry ?? config).link, ...(entry ?? config).append };
}

/** HTTP and metrics are loaded only when they are asked for: both cost memory. */
async function startAdminFor(
  config: Config,
  parts: { close(): Promise<void> }[],
  readiness: () => { readonly ready: boolean; readonly waitingFor: readonly string[] },
  rows: () => DescribeRow[],
): Promise<number | null> {
  if (config.admin === null) return null;
  const [{ startAdmin }, { Metrics }] = await Promise.all([
    import('./admin/server.ts'),
    import('./observe/metrics.ts'),
  ]);
  const metrics = new Metrics();
  metrics.watchChannels();
  metrics.watchPartitions(rows);
  const { host, port } = config.admin.bind;
  const admin = await startAdmin({
    host,
    port,
    token: config.admin.token?.reveal() ?? null,
    readiness,
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.render() }),
  });
  parts.push({
    async close() {
      await admin.close();
      metrics.close();
    },
  });
  return admin.port;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
