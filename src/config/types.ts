import type { HostPort } from './address.ts';
import type { ClientProperties } from './client-properties.ts';
import type { Secret } from './secret.ts';

/** The configuration after all checks: defaults filled in, references resolved, every name known. */
export interface Config {
  /** Path as given, for texts. */
  readonly file: string;
  readonly clusters: ReadonlyMap<string, ClusterConfig>;
  readonly gateways: readonly GatewayConfig[];
  readonly mirrors: readonly MirrorConfig[];
  /** null = no HTTP. */
  readonly admin: AdminConfig | null;
  readonly state: StateConfig;
  /** Of mirrors that a verb created; those of the file carry their own. */
  readonly link: LinkConfig;
  readonly append: AppendConfig;
}

export interface ClusterConfig {
  readonly name: string;
  /** Kafka client properties, references resolved. */
  readonly properties: ClientProperties;
  readonly bootstrap: readonly HostPort[];
}

export interface GatewayConfig {
  readonly name: string;
  readonly cluster: string;
  readonly role: 'client' | 'mirror';
  /** Name of the mirror, only with role mirror. */
  readonly mirror: string | null;
  /** Bootstrap listener. */
  readonly bind: HostPort;
  /** Host that clients are told; never a wildcard. */
  readonly advertise: string;
  /** Broker id -> port, in the order of `nodeIds`. */
  readonly brokerPorts: ReadonlyMap<number, number>;
  /** Error of a Produce to a mirror topic. */
  readonly readOnlyError: 'policy-violation' | 'read-only-topic';
  readonly limits: GatewayLimits;
}

export interface GatewayLimits {
  /** Largest request taken from a client. */
  readonly maxFrameBytes: number;
  /** 0 = no limit. */
  readonly maxConnectionsPerAddress: number;
  /** To the broker, for each client connection. */
  readonly connectTimeoutMs: number;
  /** Client silence, 0 = never. */
  readonly idleTimeoutMs: number;
  /** How long the close of a client that always fails is put off. */
  readonly delayedCloseMs: number;
}

export interface MirrorConfig {
  readonly name: string;
  readonly source: string;
  readonly destination: string;
  readonly topics: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** null = the destination's default. */
  readonly replicationFactor: number | null;
  readonly groups: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** `external`: another process copies through a `role: mirror` gateway, and no link runs. */
  readonly copier: 'link' | 'external';
  readonly link: LinkConfig;
  readonly append: AppendConfig;
}

/** Names are those of the YAML; what each bounds stands in docs/CONFIG.md. */
export interface LinkConfig {
  readonly fetchers: number;
  readonly bufferBytes: number;
  readonly fetchMaxBytes: number;
  readonly fetchMaxWaitMs: number;
  readonly maxRequestBytes: number;
}

export interface AppendConfig {
  readonly produceTimeoutMs: number;
  readonly readBackTimeoutMs: number;
  readonly silenceMs: number;
  readonly markerStillMs: number;
  readonly ioThreads: number;
}

export interface AdminConfig {
  readonly bind: HostPort;
  /** Bearer token for /metrics; demanded when `bind` is not loopback. */
  readonly token: Secret | null;
}

export interface StateConfig {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

export interface Fault {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Where in the document, `mirrors.0.topics.include.1`; '' for the document. */
  readonly path: string;
  readonly message: string;
}

export type LoadResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly Fault[] }
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] };

/** `file:line:column path: message`, as compilers do, so that editors can jump there. */
export function formatFault({ file, line, column, path, message }: Fault): string {
  return `${file}:${line}:${column} ${path === '' ? '' : `${path}: `}${message}`;
}
