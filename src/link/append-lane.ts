import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { type MirrorPartition, OFFERED } from './partition.ts';
import { textOf } from '../net/error-text.ts';

/** How one kind of append is made: which of the ready partitions go into the next request, and how it is sent. */
export interface LaneEngine<Cargo> {
  readonly name: string;
  /** Takes what fits; partitions that are no longer offered are left out. Returns null when there is nothing. */
  gather(ready: MirrorPartition[], nodeId: number): { cargo: Cargo | null; rest: MirrorPartition[] };
  /** Calls `finished` once, when the whole answer has been judged or the connection has ended. */
  send(connection: BrokerConnection, nodeId: number, cargo: Cargo, finished: () => void): void;
}

export interface LaneHooks {
  readonly mayAppend: (partition: MirrorPartition) => boolean;
  /** The lane has no connection: these partitions go into back-off. */
  readonly unreachable: (partitions: readonly MirrorPartition[], why: string) => void;
  /**
   * A connection was opened, `again` in place of one that ended: the broker may have been started anew since, and what
   * was read of its logs before says nothing.
   */
  readonly opened: (nodeId: number, again: boolean) => Promise<void>;
}

const ASK_AGAIN_MS = 100;
const MAY_NOT =
  'this instance may not append: its hold on the mirror is not confirmed, or another one took over';

/**
 * Appends of one kind to one broker: one request at a time, and everything that became ready meanwhile goes into the
 * next (natural batching). A broker works on one request of a connection at a time anyhow. The connection has no
 * request time-out: a silent one is waited for (DESIGN 5.5 rule 3).
 */
export class AppendLane<Cargo> {
  readonly nodeId: number;
  readonly #cluster: Cluster;
  readonly #engine: LaneEngine<Cargo>;
  readonly #hooks: LaneHooks;
  #connection: BrokerConnection | null = null;
  #opening = false;
  #busy = false;
  #busySince = 0;
  #scheduled = false;
  #asking: NodeJS.Timeout | null = null;
  #ready: MirrorPartition[] = [];

  constructor(cluster: Cluster, nodeId: number, engine: LaneEngine<Cargo>, hooks: LaneHooks) {
    this.#cluster = cluster;
    this.nodeId = nodeId;
    this.#engine = engine;
    this.#hooks = hooks;
  }

  offer(partition: MirrorPartition): void {
    partition.append = OFFERED;
    this.#ready.push(partition);
    if (this.#busy || this.#scheduled) return;
    this.#scheduled = true;
    // whoever becomes ready within the same turn joins
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  /** Takes back an offered partition that is in no request yet. @returns false when this lane doesn't have it */
  withdraw(partition: MirrorPartition): boolean {
    const at = this.#ready.indexOf(partition);
    if (at < 0) return false;
    this.#ready.splice(at, 1);
    return true;
  }

  /** The system has taken all bytes of the request in progress. */
  get isFlushed(): boolean {
    return this.#connection !== null && this.#connection.bytesToWrite === 0;
  }

  /** Partitions that wait behind a request that has been on its way for more than `ms`. */
  behindSilence(now: number, ms: number): readonly MirrorPartition[] {
    return this.#busy && now - this.#busySince > ms ? this.#ready : [];
  }

  close(): void {
    if (this.#asking !== null) clearTimeout(this.#asking);
    this.#ready = [];
  }

  #pump(): void {
    if (this.#busy || this.#opening || this.#ready.length === 0) return;
    const connection = this.#connection;
    if (connection === null || !connection.isOpen) {
      void this.#open();
      return;
    }
    const allowed: MirrorPartition[] = [];
    const held: MirrorPartition[] = [];
    for (const partition of this.#ready) {
      if (this.#hooks.mayAppend(partition)) allowed.push(partition);
      else if (partition.append.at === 'offered') held.push(partition);
    }
    for (const partition of held) partition.appendError = MAY_NOT;
    if (held.length > 0) this.#askAgain();
    const { cargo, rest } = this.#engine.gather(allowed, this.nodeId);
    this.#ready = [...rest, ...held];
    if (cargo === null) return;
    this.#busy = true;
    this.#busySince = performance.now();
    this.#engine.send(connection, this.nodeId, cargo, this.#finished);
  }

  #askAgain(): void {
    this.#asking ??= setTimeout(() => {
      this.#asking = null;
      this.#pump();
    }, ASK_AGAIN_MS);
  }

  readonly #finished = (): void => {
    this.#busy = false;
    this.#pump();
  };

  async #open(): Promise<void> {
    this.#opening = true;
    const again = this.#connection !== null;
    let why: string | null = null;
    try {
      this.#connection = await this.#cluster.connection(this.nodeId, this.#engine.name);
      await this.#hooks.opened(this.nodeId, again);
    } catch (error) {
      why = textOf(error);
    }
    this.#opening = false;
    if (why === null) {
      this.#pump();
      return;
    }
    const stranded = this.#ready.filter((partition) => partition.append.at === 'offered');
    this.#ready = [];
    this.#hooks.unreachable(stranded, why);
  }
}
