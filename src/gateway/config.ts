/** What a gateway is told: the part of a checked configuration (`src/config`) that it needs. */

export interface GatewayConfig {
  /** Name in the YAML: log field, metric label. */
  readonly name: string;
  /** `mirror`: Produce to the partitions of `mirror` comes from a foreign copier and is rewritten (section 7). */
  readonly role: 'client' | 'mirror';
  /** Mirror of a `role: mirror` gateway. */
  readonly mirror: string | null;
  /** Bootstrap listener; the broker ports are bound on the same host. Port 0 takes any free one (tests). */
  readonly bind: { readonly host: string; readonly port: number };
  /** Host that clients are told. Never a wildcard (case P14). */
  readonly advertise: string;
  /** Broker id -> port. */
  readonly brokerPorts: ReadonlyMap<number, number>;
  /** Error for a Produce to a read-only partition: 44 POLICY_VIOLATION, or KIP-1279's 134 READ_ONLY_TOPIC. */
  readonly readOnlyError: 'policy-violation' | 'read-only-topic';
  readonly limits?: Partial<GatewayLimits> | undefined;
}

export interface GatewayLimits {
  /** Largest request frame in bytes. A broker's own limit is 100 MiB (`socket.request.max.bytes`). */
  readonly maxFrameBytes: number;
  /** Largest response frame in bytes accepted from a broker. */
  readonly maxResponseBytes: number;
  /** Connections at once from one client address; 0 = no limit. */
  readonly maxConnectionsPerAddress: number;
  /** Silence after which a client connection to which no answer is due is closed; 0 = never. */
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Longest time for which a connection of an address that only ever fails is left waiting (case S6). */
  readonly delayedCloseMs: number;
  /** Unanswered requests on one connection; more are not read until some are answered. */
  readonly maxInFlight: number;
}

/** Answers of ours that wait for earlier ones, in bytes, above which no more requests are read. */
export const WAITING_MARK = 1024 * 1024;
/** Node stops taking writes at this many bytes, and one read brings at most this many. */
const SOCKET_MARK = 64 * 1024;
/** What an unanswered request costs beside its bytes. */
const ENTRY_BYTES = 512;

/**
 * The defaults. With requests of at most r bytes, responses of at most f bytes and answers of ours of at most a bytes,
 * one client connection holds at most
 *
 *     r + 64 KiB     a request being read, and the rest of the read behind it
 *   + r + 64 KiB     requests written to the broker and not yet taken
 *   + f + 64 KiB     a response being read, and the rest of the read behind it
 *   + f + 64 KiB     responses written to the client and not yet taken
 *   + a + 1 MiB      answers of ours that wait for their turn
 *   + maxInFlight * 512 bytes
 *
 * r and f are what really flows, capped by maxFrameBytes and maxResponseBytes; a is some 200 bytes for each
 * partition that a refused request names (at most 100,000).
 */
export const DEFAULT_LIMITS: GatewayLimits = {
  maxFrameBytes: 100 * 1024 * 1024,
  maxResponseBytes: 128 * 1024 * 1024,
  maxConnectionsPerAddress: 1_000,
  idleTimeoutMs: 600_000,
  connectTimeoutMs: 10_000,
  delayedCloseMs: 1_000,
  maxInFlight: 1_000,
};

/** Upper bound of the bytes that `connections` client connections hold whose largest frames are as given. */
export function memoryBound(
  connections: number,
  limits: GatewayLimits,
  requestBytes = limits.maxFrameBytes,
  responseBytes = limits.maxResponseBytes,
  answerBytes = 64 * 1024,
): number {
  const marks = 4 * SOCKET_MARK + WAITING_MARK + limits.maxInFlight * ENTRY_BYTES;
  return connections * (2 * requestBytes + 2 * responseBytes + answerBytes + marks);
}

const WILDCARDS = new Set(['0.0.0.0', '::', '[::]', '*', '']);

/** What `src/config` checks with file and line is checked here once more. @throws Error naming the setting */
export function checkConfig(config: GatewayConfig): void {
  if (WILDCARDS.has(config.advertise)) {
    const host = config.advertise === '' ? 'an empty host' : config.advertise;
    throw new Error(
      `gateway ${config.name}: clients can't connect to ${host}; ` +
        'set `advertise` to the host name under which they reach this machine',
    );
  }
  if (config.role === 'mirror' && config.mirror === null) {
    throw new Error(`gateway ${config.name}: role mirror needs \`mirror: NAME\``);
  }
}
