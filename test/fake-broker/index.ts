/**
 * A Kafka cluster in this process, for fast and exact tests of gateway and link: TCP ports, real frames, logs in
 * memory, and controls that fail, delay, hold, silence or cut the next request of an API.
 *
 *     const fake = await startFakeBroker({ brokers: 2, topics: [{ name: 'orders', partitions: 4 }] });
 *     fake.log('orders', 0).append(plainBatch(10));
 *     const held = fake.next(0, { kind: 'hold', when: 'after' });
 *     ...
 *     await held.met; held.release(); await fake.close();
 *
 * What it does not do: replication and ISR, timestamps lookup other than -1/-2, compaction and retention, decompression,
 * sequence and duplicate checks, transaction time-outs, group coordination, quotas, authorisation (only the operation
 * bits it reports), fetch sessions (always answers session 0), TLS and SASL, topic creation by Metadata.
 * Its versions are one table that a test may change (`versions`).
 */
import {
  type Action,
  Controls,
  type ControlHandle,
  type ControlOptions,
  type RequestInfo,
} from './controls.ts';
import type { FakeLog } from './log.ts';
import { defaultVersions, handlers, type Handler } from './registry.ts';
import { FakeNodeServer } from './server.ts';
import { ClusterState, type FakeTopic, idFromName, type TopicSpec } from './state.ts';

export interface FakeBrokerOptions {
  /** Number of nodes (ids 1..n), or their ids. Default 1. */
  readonly brokers?: number | readonly number[];
  readonly topics?: readonly (TopicSpec | string)[];
  readonly clusterId?: string;
  /** Changes of the announced versions: key -> [min, max], null to leave the key out. */
  readonly versions?: Readonly<Record<number, readonly [number, number] | null>>;
  /** Further APIs, or other behaviour of known ones. */
  readonly apis?: Readonly<Record<number, Handler>>;
}

export interface FakeCluster {
  readonly bootstrap: string;
  readonly clusterId: string;
  readonly state: ClusterState;
  /** Every request seen, in order of arrival, over all nodes. */
  readonly requests: RequestInfo[];
  address(node: number): { host: string; port: number };
  addTopic(spec: TopicSpec): FakeTopic;
  /** @throws when there is no such partition */
  log(topic: string, partition: number): FakeLog;
  setLeader(topic: string, partition: number, node: number): void;
  next(apiKey: number, action: Action, options?: ControlOptions): ControlHandle;
  requestsOf(apiKey: number): RequestInfo[];
  /** Writes a frame (its size is added) to a connection, as `RequestInfo.connection` numbers them: any garbage. */
  sendRaw(connection: number, frame: Buffer): void;
  /** Open connections to a node, or to all. */
  connections(node?: number): number;
  /** Resets every connection of a node and refuses new ones until `startNode`. */
  stopNode(node: number): Promise<void>;
  startNode(node: number): Promise<void>;
  close(): Promise<void>;
}

export async function startFakeBroker(options: FakeBrokerOptions = {}): Promise<FakeCluster> {
  const ids =
    typeof options.brokers === 'object'
      ? [...options.brokers]
      : Array.from({ length: options.brokers ?? 1 }, (_, index) => index + 1);
  const versions = defaultVersions();
  for (const [key, range] of Object.entries(options.versions ?? {})) {
    if (range === null) versions.delete(Number(key));
    else versions.set(Number(key), { min: range[0], max: range[1] });
  }
  const table = new Map(handlers);
  for (const [key, handler] of Object.entries(options.apis ?? {})) {
    table.set(Number(key), handler);
    if (!versions.has(Number(key))) versions.set(Number(key), { min: 0, max: 0 });
  }
  const clusterId = options.clusterId ?? idFromName(`cluster/${ids.join()}`);
  const state = new ClusterState(clusterId, versions);
  const controls = new Controls();
  const requests: RequestInfo[] = [];
  const servers = new Map<number, FakeNodeServer>();
  let connections = 0;
  for (const id of ids) {
    const server = new FakeNodeServer({
      node: id,
      state,
      controls,
      handlers: table,
      seen: (request) => requests.push(request),
      nextConnection: () => {
        connections += 1;
        return connections;
      },
    });
    state.nodes.push({ id, host: '127.0.0.1', port: await server.listen(0) });
    servers.set(id, server);
  }
  for (const topic of options.topics ?? [])
    state.addTopic(typeof topic === 'string' ? { name: topic } : topic);

  const serverOf = (node: number): FakeNodeServer => {
    const server = servers.get(node);
    if (server === undefined) throw new Error(`no fake node ${node}`);
    return server;
  };
  const partitionOf = (topic: string, index: number) => {
    const partition = state.partition(topic, index);
    if (partition === undefined) throw new Error(`no fake partition ${topic}-${index}`);
    return partition;
  };

  return {
    bootstrap: state.nodes.map(({ host, port }) => `${host}:${port}`).join(','),
    clusterId,
    state,
    requests,
    address: (node) => {
      const { host, port } = state.node(node) ?? { host: '', port: 0 };
      return { host, port };
    },
    addTopic: (spec) => state.addTopic(spec),
    log: (topic, partition) => partitionOf(topic, partition).log,
    setLeader(topic, partition, node) {
      const found = partitionOf(topic, partition);
      found.leader = node;
      found.log.newLeaderEpoch();
    },
    next: (apiKey, action, controlOptions) => controls.add(apiKey, action, controlOptions),
    requestsOf: (apiKey) => requests.filter((request) => request.apiKey === apiKey),
    sendRaw(connection, frame) {
      for (const server of servers.values()) if (server.sendRaw(connection, frame)) return;
      throw new Error(`no fake connection ${connection}`);
    },
    connections: (node) =>
      node === undefined
        ? [...servers.values()].reduce((sum, server) => sum + server.connections, 0)
        : serverOf(node).connections,
    stopNode: (node) => serverOf(node).close(),
    async startNode(node) {
      await serverOf(node).listen(state.node(node)?.port ?? 0);
    },
    async close() {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

export { makeBatch, makeMarker, plainBatch, splitBatches, crcOf, type BatchSpec } from './batch.ts';
export type { Action, ControlHandle, ControlOptions, RequestInfo } from './controls.ts';
export type { FakeLog } from './log.ts';
export { In, Out } from './wire.ts';
