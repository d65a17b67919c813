import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { metadataApi, type MetadataResponse } from '../../protocol/schema/03-metadata.ts';
import { findCoordinatorApi } from '../../protocol/schema/10-find-coordinator.ts';
import { formatHostPort, type HostPort, parseBootstrapServers } from '../config/address.ts';
import {
  type ClientProperties,
  clientIdOf,
  connectTimeoutOf,
  judgeProperty,
} from '../config/client-properties.ts';
import { CallTimeoutError, ConnectionClosedError } from './close-cause.ts';
import { BrokerConnection } from './connection.ts';
import { Lanes } from './lanes.ts';
import { type Broker, type LeaderAndEpoch, MetadataCache, type TopicMetadata } from './metadata.ts';
import { connectToAny } from './race.ts';
import { textOf } from './error-text.ts';

/**
 * One Kafka cluster as seen by a client: addresses to begin with, what Metadata told, and connections by
 * (broker, lane). A lane is a name for one purpose (`append`, `fetch-0`, `readback` ...), so that a request that
 * waits long never stands before another purpose's. A lane's connection is opened at its first use and anew after
 * its end. Every new connection is asked for its cluster id: an address that leads to another cluster is refused.
 */
export interface ClusterOptions {
  /** Name in the YAML, for texts. */
  readonly name: string;
  readonly properties: ClientProperties;
  readonly clientId?: string | undefined;
  /** A connection to any other cluster is refused. Without it the first id seen is kept. */
  readonly expectedClusterId?: string | undefined;
  readonly frameCapBytes?: number | undefined;
}

export interface ConnectionOptions {
  readonly connectTimeoutMs?: number | undefined;
}

export interface LeadersFromAll {
  /** topic -> partition -> leader with the highest epoch that any broker told. */
  readonly leaders: ReadonlyMap<string, ReadonlyMap<number, LeaderAndEpoch>>;
  readonly answered: readonly number[];
  readonly silent: readonly number[];
}

export class ClusterIdMismatchError extends Error {
  constructor(cluster: string, peer: string, expected: string, found: string | null) {
    super(
      `${peer} belongs to cluster id ${found ?? '(none)'}, but ${cluster} is cluster id ${expected}: ` +
        'the address leads to another cluster, or the cluster was formatted anew',
    );
    this.name = 'ClusterIdMismatchError';
  }
}

/** The address is not, or no more, the broker's: it leads to another one, which knows where that is. */
class BrokerMovedError extends ConnectionClosedError {}

const METADATA_TIMEOUT_MS = 10_000;
const ANY = -1;
const MOVES_FOLLOWED = 2;

export class Cluster {
  readonly name: string;
  readonly clientId: string;
  readonly #bootstrap: readonly HostPort[];
  readonly #connectTimeoutMs: number;
  readonly #frameCapBytes: number | undefined;
  readonly #cache = new MetadataCache();
  readonly #lanes: Lanes;
  readonly #refreshes = new Map<string, Promise<void>>();
  #expectedClusterId: string | null;

  /** @throws Error for addresses that can't be parsed and for TLS or SASL properties */
  constructor(options: ClusterOptions) {
    this.name = options.name;
    this.clientId = options.clientId ?? clientIdOf(options.properties, 'isthmus');
    const servers = parseBootstrapServers(options.properties['bootstrap.servers'] ?? '');
    if (!servers.ok) throw new Error(`cluster ${options.name}: bootstrap.servers: ${servers.message}`);
    for (const [name, value] of Object.entries(options.properties)) {
      const verdict = judgeProperty(name, value);
      if (verdict.kind === 'later') throw new Error(`cluster ${options.name}: ${verdict.message}`);
    }
    this.#bootstrap = servers.value;
    this.#connectTimeoutMs = connectTimeoutOf(options.properties);
    this.#frameCapBytes = options.frameCapBytes;
    this.#expectedClusterId = options.expectedClusterId ?? null;
    this.#lanes = new Lanes({
      owner: options.name,
      check: (connection, nodeId, timeoutMs) => this.#checkOpened(connection, nodeId, timeoutMs),
    });
  }

  /** As far as known; `connect()` and every refresh learn it. */
  get clusterId(): string | null {
    return this.#cache.clusterId ?? this.#expectedClusterId;
  }

  get controllerId(): number {
    return this.#cache.controllerId;
  }

  get bootstrap(): readonly HostPort[] {
    return this.#bootstrap;
  }

  /** Reaches the cluster and learns its brokers. @returns its cluster id @throws ClusterUnreachableError */
  async connect(): Promise<string> {
    await this.refresh([]);
    return this.clusterId ?? '';
  }

  /** From now on only this cluster id is accepted. */
  pinClusterId(clusterId: string): void {
    this.#expectedClusterId = clusterId;
  }

  brokers(): readonly Broker[] {
    return this.#cache.brokers();
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#cache.topic(name);
  }

  topics(): readonly TopicMetadata[] {
    return this.#cache.topics();
  }

  leaderOf(topic: string, partition: number): LeaderAndEpoch | undefined {
    return this.#cache.leaderOf(topic, partition);
  }

  noteLeader(topic: string, partition: number, leader: LeaderAndEpoch): void {
    this.#cache.noteLeader(topic, partition, leader);
  }

  /**
   * Asks for metadata: of these topics, of none (brokers only), or of all (null). Equal questions that run at the
   * same time are asked once. Topics are never created by it.
   * @throws ClusterUnreachableError, ClusterIdMismatchError
   */
  refresh(topics: readonly string[] | null): Promise<void> {
    const key = topics === null ? '*' : JSON.stringify(topics.toSorted());
    const running = this.#refreshes.get(key);
    if (running !== undefined) return running;
    const refresh = this.#refresh(topics).finally(() => this.#refreshes.delete(key));
    this.#refreshes.set(key, refresh);
    return refresh;
  }

  async #refresh(topics: readonly string[] | null): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const connection = await this.anyConnection('metadata');
      try {
        const answer = await askMetadata(connection, topics, METADATA_TIMEOUT_MS);
        this.#checkClusterId(connection, answer);
        this.#cache.merge(answer, topics === null);
        return;
      } catch (error) {
        // no append ever runs on this lane, so a silent connection may be given up
        if (error instanceof CallTimeoutError) connection.end('local-close', 'no answer to Metadata');
        if (error instanceof ClusterIdMismatchError || attempt >= 2) throw error;
      }
    }
  }

  /** The lane's connection to a broker, opened if there is none. @throws ConnectionClosedError, ClusterIdMismatchError */
  async connection(nodeId: number, lane: string, options: ConnectionOptions = {}): Promise<BrokerConnection> {
    for (let moves = 0; ; moves += 1) {
      try {
        return await this.#connection(nodeId, lane, options);
      } catch (error) {
        if (!(error instanceof BrokerMovedError) || moves === MOVES_FOLLOWED) throw error;
      }
    }
  }

  async #connection(nodeId: number, lane: string, options: ConnectionOptions): Promise<BrokerConnection> {
    let broker = this.#cache.broker(nodeId);
    if (broker === undefined) {
      await this.refresh([]);
      broker = this.#cache.broker(nodeId);
      if (broker === undefined) throw new Error(`cluster ${this.name} has no broker ${nodeId}`);
    }
    const { host, port } = broker;
    const connectOptions = this.#connectOptions(options.connectTimeoutMs);
    return this.#lanes.get(nodeId, lane, connectOptions.connectTimeoutMs, () =>
      BrokerConnection.connect({ host, port, ...connectOptions }),
    );
  }

  /** A connection to whichever broker answers first. @throws ClusterUnreachableError */
  anyConnection(lane: string): Promise<BrokerConnection> {
    return this.#lanes.get(ANY, lane, this.#connectTimeoutMs, async () => {
      const known = this.#cache.brokers().map(({ host, port }) => ({ host, port }));
      const { connection } = await connectToAny(
        this.name,
        uniqueAddresses([...known, ...this.#bootstrap]),
        this.#connectOptions(),
      );
      return connection;
    });
  }

  /** Ends a lane's connection, so that the next use opens a new one. */
  dropLane(nodeId: number, lane: string, why: string): void {
    this.#lanes.drop(nodeId, lane, why);
  }

  /**
   * Node id of a coordinator. Waits while the broker says that it is loading or being elected, and asks again elsewhere
   * when the one that was asked is silent or gone.
   * @throws ClusterUnreachableError, or Error naming what stood against it for longer than `timeoutMs` (default 30 s)
   */
  async coordinator(type: 'group' | 'transaction', key: string, timeoutMs = 30_000): Promise<number> {
    const until = performance.now() + timeoutMs;
    const question = { key, keyType: type === 'group' ? 0 : 1, coordinatorKeys: [key] };
    const fault = (why: string): Error =>
      new Error(`${type} coordinator of "${key}" on ${this.name}: ${why}`.trim());
    for (;;) {
      const connection = await this.anyConnection('metadata');
      const asked = connection.call(findCoordinatorApi, question, {
        timeoutMs: Math.min(METADATA_TIMEOUT_MS, timeoutMs / 4),
      });
      const found = await asked.catch((error: unknown) => {
        const silent = error instanceof CallTimeoutError;
        // no append ever runs on this lane, so a silent connection may be given up
        if (silent) connection.end('local-close', 'no answer to FindCoordinator');
        if (!silent && !(error instanceof ConnectionClosedError)) throw error;
        if (performance.now() > until || this.#lanes.closed) throw fault(error.message);
        return null;
      });
      const answer = found?.coordinators.find((one) => one.key === key) ?? found;
      if (answer?.errorCode === ErrorCode.NONE) {
        const { nodeId, host, port } = answer;
        if (this.#cache.broker(nodeId) === undefined)
          this.#cache.noteBroker({ nodeId, host, port, rack: null });
        return nodeId;
      }
      if (answer !== null) {
        const waits =
          answer.errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS ||
          answer.errorCode === ErrorCode.COORDINATOR_NOT_AVAILABLE;
        if (!waits || performance.now() > until || this.#lanes.closed)
          throw fault(`${errorName(answer.errorCode)} ${answer.errorMessage ?? ''}`);
      }
      await delay(100);
    }
  }

  /**
   * Asks every broker for metadata on a connection of its own, to find the highest leader epoch that anyone knows: a
   * broker cut off from the controller still believes in the old one (DESIGN 5.5 rules 3 and 7).
   */
  async leaderEpochFromAll(topics: readonly string[], timeoutMs = 2_000): Promise<LeadersFromAll> {
    const answered: number[] = [];
    const silent: number[] = [];
    const answers: MetadataResponse[] = [];
    await Promise.all(
      this.brokers().map(async ({ nodeId }) => {
        try {
          const connection = await this.connection(nodeId, 'epochs', { connectTimeoutMs: timeoutMs });
          const answer = await askMetadata(connection, topics, timeoutMs);
          this.#checkClusterId(connection, answer);
          answers.push({ ...answer, brokers: [] });
          answered.push(nodeId);
        } catch (error) {
          if (error instanceof CallTimeoutError) this.dropLane(nodeId, 'epochs', 'no answer to Metadata');
          silent.push(nodeId);
        }
      }),
    );
    this.#cache.mergeAll(answers);
    const leaders = new Map<string, ReadonlyMap<number, LeaderAndEpoch>>();
    for (const name of topics) {
      const partitions = new Map<number, LeaderAndEpoch>();
      for (const { partition, leader, leaderEpoch } of this.topic(name)?.partitions ?? []) {
        if (leader >= 0) partitions.set(partition, { nodeId: leader, leaderEpoch });
      }
      leaders.set(name, partitions);
    }
    return { leaders, answered, silent };
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#lanes.close();
  }

  #connectOptions(connectTimeoutMs = this.#connectTimeoutMs) {
    return { clientId: this.clientId, connectTimeoutMs, frameCapBytes: this.#frameCapBytes };
  }

  async #checkOpened(connection: BrokerConnection, nodeId: number, timeoutMs: number): Promise<void> {
    const answer = await askMetadata(connection, [], timeoutMs).catch((error: unknown) => {
      connection.end('handshake-failed', textOf(error));
      throw error;
    });
    this.#checkClusterId(connection, answer);
    if (this.#cache.brokers().length === 0) this.#cache.merge(answer, false);
    this.#checkAddress(connection, nodeId, answer);
  }

  /** Brokers may swap addresses; where another one answers, every request would find "not the leader" for ever. */
  #checkAddress(connection: BrokerConnection, nodeId: number, { brokers }: MetadataResponse): void {
    const now = brokers.find((broker) => broker.nodeId === nodeId);
    if (now === undefined) return;
    const address = formatHostPort(now);
    if (address === connection.peer) return;
    this.#cache.noteBroker(now);
    const why = `broker ${nodeId} of ${this.name} is at ${address} now`;
    connection.end('local-close', why);
    throw new BrokerMovedError('local-close', why, connection.peer, false);
  }

  #checkClusterId(connection: BrokerConnection, answer: MetadataResponse): void {
    if (this.#expectedClusterId === null) this.#expectedClusterId = answer.clusterId;
    if (answer.clusterId === this.#expectedClusterId) return;
    const error = new ClusterIdMismatchError(
      this.name,
      connection.peer,
      this.#expectedClusterId ?? '(none)',
      answer.clusterId,
    );
    connection.end('cluster-id-mismatch', error.message);
    throw error;
  }
}

async function askMetadata(
  connection: BrokerConnection,
  topics: readonly string[] | null,
  timeoutMs: number,
): Promise<MetadataResponse> {
  const answer = await connection.call(
    metadataApi,
    { topics: topics === null ? null : topics.map((name) => ({ name })), allowAutoTopicCreation: false },
    { timeoutMs },
  );
  if (answer.errorCode !== 0)
    throw new Error(`Metadata of ${connection.peer}: ${errorName(answer.errorCode)}`);
  return answer;
}

function uniqueAddresses(addresses: readonly HostPort[]): readonly HostPort[] {
  const seen = new Set<string>();
  return addresses.filter(({ host, port }) => {
    const key = `${host}:${port}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
