import { nearest } from './edit-distance.ts';

/**
 * The Kafka client properties of one cluster, as they stand in the YAML. They are taken verbatim; those that Isthmus
 * knows are used, those that it cannot honour yet are refused by name, never ignored: a `security.protocol` that is
 * silently dropped would send data in plain text.
 */
export type ClientProperties = Readonly<Record<string, string>>;

const USED = new Map<string, string>([
  ['bootstrap.servers', 'addresses to begin with'],
  ['client.id', 'client id sent to the brokers'],
  ['socket.connection.setup.timeout.ms', 'time-out of one connection attempt'],
]);

/** Accepted and without effect here; each is named in `check`. */
const NO_EFFECT = new Set([
  'request.timeout.ms',
  'default.api.timeout.ms',
  'connections.max.idle.ms',
  'metadata.max.age.ms',
  'reconnect.backoff.ms',
  'reconnect.backoff.max.ms',
  'retries',
  'retry.backoff.ms',
  'retry.backoff.max.ms',
  'send.buffer.bytes',
  'receive.buffer.bytes',
  'socket.connection.setup.timeout.max.ms',
  'client.dns.lookup',
]);

export type PropertyVerdict =
  | { readonly kind: 'used' }
  | { readonly kind: 'no-effect' }
  | { readonly kind: 'later'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string };

export function judgeProperty(name: string, value: string): PropertyVerdict {
  if (name === 'security.protocol') {
    if (value.trim().toUpperCase() === 'PLAINTEXT') return { kind: 'used' };
    return later(`security.protocol ${value.trim()}`);
  }
  if (/^(ssl|sasl|security)\./.test(name)) return later(name);
  if (USED.has(name)) return { kind: 'used' };
  if (NO_EFFECT.has(name)) return { kind: 'no-effect' };
  return { kind: 'unknown', message: `${name} is not a client property that Isthmus knows; remove it` };
}

/** The property that a name nearly is; null when none is like it. */
export function likelyProperty(name: string): string | null {
  return nearest(name, [...USED.keys(), 'security.protocol', ...NO_EFFECT]);
}

export function clientIdOf(properties: ClientProperties, otherwise: string): string {
  return properties['client.id'] ?? otherwise;
}

/** Time-out of one connection attempt in ms; Kafka's default is 10 s. */
export function connectTimeoutOf(properties: ClientProperties): number {
  const value = Number(properties['socket.connection.setup.timeout.ms'] ?? 10_000);
  return Number.isFinite(value) && value > 0 ? value : 10_000;
}

function later(what: string): { kind: 'later'; message: string } {
  return {
    kind: 'later',
    message: `${what}: TLS and SASL come later; use a plain-text listener (security.protocol PLAINTEXT)`,
  };
}
