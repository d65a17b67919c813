import { createServer, type Server, type Socket } from 'node:net';
import { formatHostPort } from '../config/address.ts';
import { FramedSocket, type FramedHandlers } from './framed-socket.ts';

/**
 * Listening sockets, bound all or none: clients that were told a port by Metadata must find it, so nothing is served
 * until every port stands (case P12).
 */
export interface BindRequest {
  readonly host: string;
  /** 0 = any free port (tests). */
  readonly port: number;
  /** Given back with each connection: which listener it came through. */
  readonly label: string;
  /** For people, when it can't be bound; without it the label. */
  readonly name?: string;
}

export interface ListenerLimits {
  /** Largest request frame in bytes. */
  readonly maxFrameBytes: number;
  /** Connections at once from one address, 0 = no limit. */
  readonly maxConnectionsPerAddress: number;
  /** Silence after which a connection is closed, 0 = never. */
  readonly idleTimeoutMs: number;
}

export interface Bound {
  readonly host: string;
  readonly port: number;
  readonly label: string;
}

export interface Listener {
  readonly bound: readonly Bound[];
  readonly connections: number;
  /** Stops accepting; ends every connection with cause `shutdown`. Resolves when all are gone. */
  close(): Promise<void>;
}

export interface ListenerHooks {
  /** A connection came. The handlers returned get its frames, in order. */
  onConnection(peer: FramedSocket, bound: Bound): FramedHandlers;
  /** A connection was closed at once because its address has too many (named `too-many-connections`). */
  onRefused?(address: string, bound: Bound): void;
  /** The system could not accept a connection (no descriptors left); the listener goes on. */
  onAcceptFailed?(error: Error, bound: Bound): void;
}

interface BindFault {
  /** Name and address. */
  readonly what: string;
  readonly why: string;
}

/** Names what could not be bound; of many with one reason, as when the same file runs twice, the first. */
export class BindError extends Error {
  constructor(faults: readonly BindFault[]) {
    const groups = [...Map.groupBy(faults, ({ why }) => why)];
    super(`nothing was bound: ${groups.map(([why, some]) => `${namesOf(some)}: ${why}`).join('; ')}`);
    this.name = 'BindError';
  }
}

const MOST_NAMED = 4;

function namesOf(faults: readonly BindFault[]): string {
  const names = faults.map(({ what }) => what);
  if (names.length <= MOST_NAMED) return names.join(', ');
  const shown = MOST_NAMED - 1;
  return `${names.slice(0, shown).join(', ')} and ${names.length - shown} more`;
}

function faultOf(reason: unknown): BindFault {
  return reason instanceof PortRefused ? reason.fault : { what: 'a port', why: String(reason) };
}

/** One port that could not be bound. */
class PortRefused extends Error {
  readonly fault: BindFault;

  constructor(fault: BindFault) {
    super(`${fault.what}: ${fault.why}`);
    this.fault = fault;
  }
}

const SMALLEST_REQUEST = 8;

export async function listen(
  requests: readonly BindRequest[],
  limits: ListenerLimits,
  hooks: ListenerHooks,
): Promise<Listener> {
  const perAddress = new Map<string, number>();
  const peers = new Set<FramedSocket>();
  let idle: (() => void) | null = null;

  const accept = (socket: Socket, bound: Bound): void => {
    const address = socket.remoteAddress;
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const count = perAddress.get(address) ?? 0;
    if (limits.maxConnectionsPerAddress > 0 && count >= limits.maxConnectionsPerAddress) {
      socket.on('error', () => undefined);
      socket.destroy();
      hooks.onRefused?.(address, bound);
      return;
    }
    perAddress.set(address, count + 1);
    let handlers: FramedHandlers | null = null;
    const peer = FramedSocket.accept(
      socket,
      {
        frameCapBytes: limits.maxFrameBytes,
        smallestFrame: SMALLEST_REQUEST,
        idleTimeoutMs: limits.idleTimeoutMs,
      },
      {
        onFrame: (frame) => handlers?.onFrame(frame),
        onDrain: () => handlers?.onDrain?.(),
        owesAnswer: () => handlers?.owesAnswer?.() ?? false,
        onClosed: (cause, detail) => {
          peers.delete(peer);
          const left = (perAddress.get(address) ?? 1) - 1;
          if (left === 0) perAddress.delete(address);
          else perAddress.set(address, left);
          handlers?.onClosed(cause, detail);
          if (peers.size === 0) idle?.();
        },
      },
    );
    peers.add(peer);
    handlers = hooks.onConnection(peer, bound);
  };

  const failed = (error: Error, bound: Bound): void => hooks.onAcceptFailed?.(error, bound);
  const outcomes = await Promise.allSettled(requests.map((request) => bind(request, accept, failed)));
  const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const faults = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [faultOf(outcome.reason)] : [],
  );
  if (faults.length > 0) {
    // a server is closed when its last connection has ended: whoever came already is sent away first
    const stopped = servers.map(({ server }) => closeServer(server));
    for (const peer of peers) peer.end('shutdown');
    await Promise.all(stopped);
    throw new BindError(faults);
  }

  return {
    bound: servers.map(({ bound }) => bound),
    get connections() {
      return peers.size;
    },
    async close() {
      const stopped = Promise.all(servers.map(({ server }) => closeServer(server)));
      const gone = new Promise<void>((resolve) => {
        idle = resolve;
        if (peers.size === 0) resolve();
      });
      for (const peer of peers) peer.endAfterWrites('shutdown', '', 1_000);
      await gone;
      await stopped;
    },
  };
}

function bind(
  request: BindRequest,
  accept: (socket: Socket, bound: Bound) => void,
  acceptFailed: (error: Error, bound: Bound) => void,
): Promise<{ server: Server; bound: Bound }> {
  return new Promise((resolve, reject) => {
    let bound: Bound = { host: request.host, port: request.port, label: request.label };
    let stands = false;
    const server = createServer({ noDelay: true, keepAlive: true }, (socket) => accept(socket, bound));
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (stands) {
        acceptFailed(error, bound);
        return;
      }
      const why =
        error.code === 'EADDRINUSE'
          ? 'the port is in use by another process'
          : error.code === 'EACCES'
            ? 'ports below 1024 need a privilege'
            : error.code === 'EADDRNOTAVAIL'
              ? 'this machine has no such address'
              : error.code === 'ENOTFOUND'
                ? 'this host name is not known here'
                : error.message;
      const address = formatHostPort({ host: request.host, port: request.port });
      reject(new PortRefused({ what: `${request.name ?? request.label} ${address}`, why }));
    });
    server.listen({ host: request.host, port: request.port, backlog: 511 }, () => {
      stands = true;
      const address = server.address();
      if (address !== null && typeof address === 'object') bound = { ...bound, port: address.port };
      resolve({ server, bound });
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
