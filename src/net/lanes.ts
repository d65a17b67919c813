import { connectionClosed, connectionOpened } from '../observe/channels.ts';
import type { BrokerConnection } from './connection.ts';
import { ClusterUnreachableError } from './race.ts';

/**
 * A cluster's connections by (broker, lane): opened at the first use, anew after their end, one at a time for each. A
 * connection is handed out only once `check` has looked at it.
 */
export interface LaneOptions {
  /** Name of the cluster, for texts. */
  readonly owner: string;
  /** Ends the connection and throws when it is not to be used. */
  readonly check: (connection: BrokerConnection, nodeId: number, timeoutMs: number) => Promise<void>;
}

export class Lanes {
  readonly #options: LaneOptions;
  readonly #lanes = new Map<string, Promise<BrokerConnection>>();
  readonly #open = new Set<BrokerConnection>();
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** @throws ClusterUnreachableError after `close`, and whatever `open` and `check` throw */
  get(
    nodeId: number,
    lane: string,
    timeoutMs: number,
    open: () => Promise<BrokerConnection>,
  ): Promise<BrokerConnection> {
    if (this.#closed) {
      return Promise.reject(new ClusterUnreachableError(this.#options.owner, ['it was closed by us']));
    }
    const key = `${nodeId}/${lane}`;
    const known = this.#lanes.get(key);
    if (known !== undefined) {
      return known.then((connection) => {
        if (connection.isOpen) return connection;
        // it was ended, and its end was not told yet
        if (this.#lanes.get(key) === known) this.#lanes.delete(key);
        return this.get(nodeId, lane, timeoutMs, open);
      });
    }
    const made = this.#opened(nodeId, open, timeoutMs);
    this.#lanes.set(key, made);
    const forget = (): void => {
      if (this.#lanes.get(key) === made) this.#lanes.delete(key);
    };
    made.then((connection) => connection.closed.then(forget), forget);
    return made;
  }

  /** Ends a lane's connection, so that the next use opens a new one. */
  drop(nodeId: number, lane: string, why: string): void {
    const key = `${nodeId}/${lane}`;
    const found = this.#lanes.get(key);
    this.#lanes.delete(key);
    found?.then(
      (connection) => connection.end('local-close', why),
      () => undefined,
    );
  }

  /** Ends every connection; none is opened any more. */
  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#open];
    for (const connection of open) connection.end('shutdown');
    await Promise.all(open.map((connection) => connection.closed));
  }

  async #opened(
    nodeId: number,
    open: () => Promise<BrokerConnection>,
    timeoutMs: number,
  ): Promise<BrokerConnection> {
    const { owner, check } = this.#options;
    const connection = await open();
    const { peer } = connection;
    this.#open.add(connection);
    connectionOpened.publish({ side: 'cluster', peer, owner });
    void connection.closed.then((cause) => {
      this.#open.delete(connection);
      connectionClosed.publish({ side: 'cluster', peer, owner, cause, detail: connection.closeDetail });
    });
    if (this.#closed) connection.end('shutdown');
    await check(connection, nodeId, timeoutMs);
    return connection;
  }
}
