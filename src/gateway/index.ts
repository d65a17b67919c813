import type { CloseCause } from '../net/close-cause.ts';
import type { Cluster } from '../net/cluster.ts';
import type { FramedHandlers, FramedSocket } from '../net/framed-socket.ts';
import { type Bound, listen, type Listener } from '../net/listener.ts';
import { connectionClosed, connectionOpened, connectionRefused, gatewayNotice } from '../observe/channels.ts';
import { BrokerMoves } from './broker-moves.ts';
import { ClientSession } from './client-session.ts';
import { checkConfig, DEFAULT_LIMITS, type GatewayConfig, type GatewayLimits } from './config.ts';
import { DecodeTable } from './decode-table.ts';
import { type ClientAddress, NodeMap } from './node-map.ts';
import { PenaltyBox } from './penalty.ts';
import type { MirrorRolePort, MirrorView, VerbPort } from './ports.ts';
import type { RuleServices } from './rule.ts';
import { rulesFor } from './rules/index.ts';
import { lookupTopicIds } from './topic-lookup.ts';
import { TopicIds } from './topic-ids.ts';
import { type BrokerAddress, Upstream } from './upstream.ts';

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly cluster: Cluster;
  readonly view: MirrorView;
  readonly verbs: VerbPort;
  readonly mirrorRole: MirrorRolePort;
}

export interface GatewaySnapshot {
  readonly name: string;
  readonly role: GatewayConfig['role'];
  readonly clients: number;
  /** Since the start. */
  readonly accepted: number;
  readonly requests: number;
  readonly forwarded: number;
  readonly answeredHere: number;
  /** Bytes of frames held now, over all connections; `memoryBound` says how many it can be. */
  readonly bytesHeld: number;
  /** Ends of client connections by their name. */
  readonly closes: Readonly<Record<string, number>>;
  /** Connections on which reading is held back now, by `client:reason` or `broker:reason`. */
  readonly holds: Readonly<Record<string, number>>;
}

export interface Gateway {
  readonly name: string;
  readonly addresses: {
    /** What clients are told to begin with. */
    readonly bootstrap: ClientAddress;
    readonly brokers: ReadonlyMap<number, ClientAddress>;
  };
  /** Stops accepting, ends the clients, and waits for answers that must be heard. */
  close(): Promise<void>;
  snapshot(): GatewaySnapshot;
}

const BOOTSTRAP = 'bootstrap';
/** How long a closing gateway waits for answers that must be heard. */
const HEARD_OUT_MS = 10_000;
/** A system without descriptors fails many accepts a second. */
const ACCEPT_FAILURE_TOLD_EVERY_MS = 10_000;

/**
 * Binds the bootstrap port and one port for each broker, all or none, and serves.
 * @throws Error for a wildcard that clients would be told, for too few ports, or when a port can't be bound
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, cluster } = options;
  checkConfig(config);
  const host = config.advertise;
  const limits: GatewayLimits = { ...DEFAULT_LIMITS, ...config.limits };
  const rules = rulesFor(config.role);
  const table = new DecodeTable(rules(() => table));
  const penalty = new PenaltyBox(limits.delayedCloseMs);
  const sessions = new Set<ClientSession>();
  /** Those that came through a broker's port. */
  const pinned = new Set<ClientSession>();
  const moves = new BrokerMoves(cluster, () => pinned);
  const closes = new Map<string, number>();
  const totals = { accepted: 0, requests: 0, forwarded: 0, answeredHere: 0 };
  let idle: (() => void) | null = null;
  const bound = Promise.withResolvers<void>();
  const nodeAddresses = new Map<number, ClientAddress>();
  const services: RuleServices = {
    config,
    nodes: new NodeMap(config.name, nodeAddresses),
    clusterId: () => cluster.clusterId,
    ids: new TopicIds((ids) => lookupTopicIds(cluster, ids)),
    brokersTold: (brokers) => moves.told(brokers),
    view: options.view,
    verbs: options.verbs,
    mirrorRole: options.mirrorRole,
  };

  const onConnection = (peer: FramedSocket, via: Bound): FramedHandlers => {
    const address = peer.remoteAddress ?? 'unknown';
    totals.accepted += 1;
    connectionOpened.publish({ side: 'client', peer: peer.peer, owner: config.name });
    const session: ClientSession = new ClientSession(peer, {
      services,
      table,
      limits,
      delayMs: penalty.delayFor(address),
      // a connection may come before the last port is bound; nothing is served until all addresses are known
      connect: () => bound.promise.then(() => openUpstream(cluster, via.label, limits)),
      onUpstreamOpen: (upstream) => {
        connectionOpened.publish({ side: 'upstream', peer: upstream.peer, owner: config.name });
      },
      onUpstreamClosed: (upstream, cause, detail) => {
        // the brokers have moved: where they are now is asked before the next connection
        if (cause === 'cluster-id-mismatch') cluster.refresh([]).catch(() => undefined);
        connectionClosed.publish({
          side: 'upstream',
          peer: upstream.peer,
          owner: config.name,
          cause,
          detail,
        });
      },
      onGone: (cause: CloseCause, detail: string, served: boolean) => {
        sessions.delete(session);
        pinned.delete(session);
        totals.requests += session.counts.requests;
        totals.forwarded += session.counts.forwarded;
        totals.answeredHere += session.counts.answeredHere;
        closes.set(cause, (closes.get(cause) ?? 0) + 1);
        penalty.ended(address, cause, served);
        connectionClosed.publish({ side: 'client', peer: peer.peer, owner: config.name, cause, detail });
        if (sessions.size === 0) idle?.();
      },
    });
    sessions.add(session);
    if (via.label !== BOOTSTRAP) pinned.add(session);
    session.start();
    return session;
  };

  let quietUntil = 0;
  const bindHost = config.bind.host;
  const ports = [
    { host: bindHost, port: config.bind.port, label: BOOTSTRAP, name: `gateway ${config.name} bind` },
    ...[...config.brokerPorts].map(([nodeId, port]) => ({
      host: bindHost,
      port,
      label: String(nodeId),
      name: `gateway ${config.name} broker port of node ${nodeId}`,
    })),
  ];
  const listener: Listener = await listen(
    ports,
    {
      maxFrameBytes: limits.maxFrameBytes,
      maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
      idleTimeoutMs: limits.idleTimeoutMs,
    },
    {
      onConnection,
      onRefused: (address) => {
        const reason = `more than ${limits.maxConnectionsPerAddress} connections`;
        closes.set('too-many-connections', (closes.get('too-many-connections') ?? 0) + 1);
        connectionRefused.publish({ owner: config.name, address, reason });
      },
      onAcceptFailed: (error, { label, port }) => {
        if (performance.now() < quietUntil) return;
        quietUntil = performance.now() + ACCEPT_FAILURE_TOLD_EVERY_MS;
        const where = `${config.name}: a connection to port ${port} (${label}) could not be accepted`;
        gatewayNotice.publish({
          gateway: config.name,
          level: 'error',
          message: `${where}: ${error.message}`,
        });
      },
    },
  );
  let bootstrap: ClientAddress = { host, port: config.bind.port };
  for (const { label, port } of listener.bound) {
    if (label === BOOTSTRAP) bootstrap = { host, port };
    else nodeAddresses.set(Number(label), { host, port });
  }
  bound.resolve();
  gatewayNotice.publish({
    gateway: config.name,
    level: 'info',
    message: `${config.name} listens on ${bindHost}:${bootstrap.port} for cluster ${cluster.name}, ${config.brokerPorts.size} broker port${config.brokerPorts.size === 1 ? '' : 's'}`,
  });

  return {
    name: config.name,
    addresses: { bootstrap, brokers: nodeAddresses },
    async close() {
      await listener.close();
      const patience = setTimeout(() => {
        for (const session of sessions) session.abandon();
      }, HEARD_OUT_MS);
      await new Promise<void>((resolve) => {
        idle = resolve;
        if (sessions.size === 0) resolve();
      });
      clearTimeout(patience);
    },
    snapshot() {
      const holds: Record<string, number> = {};
      const sums = { ...totals, bytesHeld: 0 };
      for (const session of sessions) {
        sums.requests += session.counts.requests;
        sums.forwarded += session.counts.forwarded;
        sums.answeredHere += session.counts.answeredHere;
        sums.bytesHeld += session.bytesHeld;
        for (const reason of session.holds) holds[reason] = (holds[reason] ?? 0) + 1;
      }
      return {
        name: config.name,
        role: config.role,
        clients: sessions.size,
        ...sums,
        closes: Object.fromEntries(closes),
        holds,
      };
    },
  };
}

/** A broker port leads to its broker, the bootstrap port to any that answers. */
async function openUpstream(cluster: Cluster, label: string, limits: GatewayLimits): Promise<Upstream> {
  for (let attempt = 0; ; attempt += 1) {
    const candidates = candidatesFor(cluster, label);
    try {
      if (candidates.length > 0) return await Upstream.open(candidates, limits);
    } catch (error) {
      if (attempt > 0) throw error;
    }
    if (attempt > 0)
      throw new Error(label === BOOTSTRAP ? 'no broker is known' : `broker ${label} is not in the cluster`);
    // an address may have changed, or the cluster was never reached
    await cluster.refresh([]);
  }
}

let turn = 0;

function candidatesFor(cluster: Cluster, label: string): BrokerAddress[] {
  const brokers = cluster.brokers();
  if (label !== BOOTSTRAP) return brokers.filter(({ nodeId }) => nodeId === Number(label));
  // begin with another broker each time
  turn += 1;
  const first = brokers.length === 0 ? 0 : turn % brokers.length;
  return [...brokers.slice(first), ...brokers.slice(0, first)];
}

export type { GatewayConfig, GatewayLimits } from './config.ts';
export { DEFAULT_LIMITS, memoryBound } from './config.ts';
export type * from './ports.ts';
