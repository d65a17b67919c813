import { channel, type Channel } from 'node:diagnostics_channel';

/**
 * What the parts tell the world. A part publishes a plain object on a channel; logs, metrics and progress subscribe.
 * Publishing without a subscriber costs a few nanoseconds, and no part knows who listens. Messages hold no secrets
 * and no record contents.
 *
 *     connectionClosed.publish({ side: 'client', peer, cause, ... })
 *     connectionClosed.subscribe((message) => ...)
 */
export interface TypedChannel<T> {
  readonly name: string;
  readonly hasSubscribers: boolean;
  publish(message: T): void;
  /** @returns a function that ends the subscription */
  subscribe(listener: (message: T) => void): () => void;
}

export function typedChannel<T>(name: string): TypedChannel<T> {
  const raw: Channel = channel(name);
  return {
    name,
    get hasSubscribers() {
      return raw.hasSubscribers;
    },
    publish(message) {
      if (raw.hasSubscribers) raw.publish(message);
    },
    subscribe(listener) {
      const inner = (message: unknown): void => listener(message as T);
      raw.subscribe(inner);
      return () => {
        raw.unsubscribe(inner);
      };
    },
  };
}

/** Which side of Isthmus a connection is on. */
export type ConnectionSide =
  /** a client of a gateway */
  | 'client'
  /** the gateway's own connection for a client */
  | 'upstream'
  /** link and control to a cluster */
  | 'cluster';

export interface ConnectionOpened {
  readonly side: ConnectionSide;
  readonly peer: string;
  /** Gateway name for client and upstream, cluster name for cluster. */
  readonly owner: string;
}
export const connectionOpened = typedChannel<ConnectionOpened>('isthmus:connection:opened');

export interface ConnectionClosed {
  readonly side: ConnectionSide;
  readonly peer: string;
  readonly owner: string;
  /** CloseCause of src/net. */
  readonly cause: string;
  readonly detail: string;
}
export const connectionClosed = typedChannel<ConnectionClosed>('isthmus:connection:closed');

/** A connection was closed before it was served: its address has too many. */
export interface ConnectionRefused {
  readonly owner: string;
  readonly address: string;
  readonly reason: string;
}
export const connectionRefused = typedChannel<ConnectionRefused>('isthmus:connection:refused');

/** A request was answered by the gateway itself with an error, or by closing the connection. */
export interface GatewayRefused {
  readonly gateway: string;
  readonly clientAddress: string;
  readonly clientId: string | null;
  readonly api: string;
  /** Kafka error name, or `closed` for acks=0. */
  readonly error: string;
  readonly reason: string;
  readonly topics: readonly string[];
}
export const gatewayRefused = typedChannel<GatewayRefused>('isthmus:gateway:refused');

/** Something about a gateway worth a line: a broker without a port, versions cut, a foreign address removed. */
export interface GatewayNotice {
  readonly gateway: string;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
}
export const gatewayNotice = typedChannel<GatewayNotice>('isthmus:gateway:notice');

export interface PartitionStateChanged {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly from: string;
  readonly to: string;
  readonly error: string | null;
}
export const partitionStateChanged = typedChannel<PartitionStateChanged>('isthmus:partition:state');

/** An append whose outcome is not known: its connection was lost, or its reply left it open (DESIGN 5.5). */
export interface AppendUnclear {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly expectedOffset: number;
  readonly reason: string;
}
export const appendUnclear = typedChannel<AppendUnclear>('isthmus:append:unclear');

export interface AppendSettled {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly expectedOffset: number;
  readonly end: number;
  /** How: by the reply, by looking, by probes, by a released owner record. */
  readonly by: string;
  readonly afterMs: number;
}
export const appendSettled = typedChannel<AppendSettled>('isthmus:append:settled');

/** A destination's log ends below what it had acknowledged: [from, to) is gone there, and mirrored again. */
export interface TailLost {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}
export const tailLost = typedChannel<TailLost>('isthmus:destination:tail-lost');

/** One line for each change that somebody asked for, whether it was done or refused. */
export interface Audit {
  readonly verb: string;
  readonly mirror: string;
  readonly topics: readonly string[] | null;
  readonly clientAddress: string;
  readonly clientId: string | null;
  readonly dryRun: boolean;
  readonly outcome: 'done' | 'refused' | 'failed';
  readonly message: string | null;
}
export const audit = typedChannel<Audit>('isthmus:audit');

/** An error of background work (source unreachable, configs not given back ...) that will be tried again. */
export interface SyncError {
  readonly mirror: string;
  readonly task: string;
  readonly message: string;
}
export const syncError = typedChannel<SyncError>('isthmus:sync:error');

/** A line about the life of the process: started, ready, fenced, stopping. */
export interface Lifecycle {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}
export const lifecycle = typedChannel<Lifecycle>('isthmus:lifecycle');
