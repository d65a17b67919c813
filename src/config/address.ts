/** `host:port` texts as Kafka writes them, IPv6 in brackets; blanks around them are allowed (case P26). */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

export function parseHostPort(text: string): Parsed<HostPort> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse('an empty address; write host:port');
  if (trimmed.includes('://')) {
    return refuse(`"${trimmed}" has a listener or scheme name in front; write only host:port`);
  }
  let host: string;
  let rest: string;
  if (trimmed.startsWith('[')) {
    const close = trimmed.indexOf(']');
    if (close < 0) return refuse(`"${trimmed}" opens a bracket and does not close it; write [address]:port`);
    host = trimmed.slice(1, close);
    if (!/^[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?$/.test(host) || !host.includes(':')) {
      return refuse(`"${host}" in brackets is not an IPv6 address`);
    }
    rest = trimmed.slice(close + 1);
    if (rest !== '' && !rest.startsWith(':')) return refuse(`"${trimmed}": after the bracket comes :port`);
    rest = rest.slice(1);
  } else {
    const colon = trimmed.lastIndexOf(':');
    if (colon >= 0 && trimmed.indexOf(':') !== colon) {
      return refuse(`"${trimmed}": an IPv6 address stands in brackets: [address]:port`);
    }
    host = (colon < 0 ? trimmed : trimmed.slice(0, colon)).trim();
    rest = colon < 0 ? '' : trimmed.slice(colon + 1);
    if (host === '') return refuse(`"${trimmed}" has no host; write host:port`);
    if (!HOST.test(host)) return refuse(`"${host}" is not a host name or address`);
  }
  rest = rest.trim();
  if (rest === '') return refuse(`"${trimmed}" has no port; write ${shown(host)}:9092`);
  if (!/^\d{1,5}$/.test(rest) || Number(rest) < 1 || Number(rest) > 65535) {
    return refuse(`"${trimmed}": the port must be a number from 1 to 65535`);
  }
  return { ok: true, value: { host, port: Number(rest) } };
}

/** Comma-separated addresses, in order, each once. */
export function parseBootstrapServers(text: string): Parsed<readonly HostPort[]> {
  const { addresses, messages } = readBootstrapServers(text);
  return messages[0] === undefined ? { ok: true, value: addresses } : refuse(messages[0]);
}

/** As `parseBootstrapServers`, with every fault and with the addresses beside them. */
export function readBootstrapServers(text: string): {
  readonly addresses: readonly HostPort[];
  readonly messages: readonly string[];
} {
  const found = new Map<string, HostPort>();
  const messages = new Set<string>();
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const parsed = parseHostPort(part);
    if (parsed.ok) found.set(formatHostPort(parsed.value), parsed.value);
    else messages.add(parsed.message);
  }
  if (found.size === 0 && messages.size === 0) {
    messages.add('no address; write host:port, more than one separated by commas');
  }
  return { addresses: [...found.values()], messages: [...messages] };
}

/** The host of a `host:port` whose port is missing or wrong; null when the host itself can't be told. */
export function hostOf(text: string): string | null {
  const trimmed = text.trim();
  const bracket = /^(\[[^\]]*\])/.exec(trimmed)?.[1];
  const host = bracket ?? trimmed.replace(/:[^:]*$/, '');
  const parsed = parseHostPort(`${host}:1`);
  return parsed.ok ? parsed.value.host : null;
}

/** One text for hosts that are the same one written differently. */
export function sameHost(host: string): string {
  const plain = host.toLowerCase();
  return plain === 'localhost' || plain === '::1' ? '127.0.0.1' : plain;
}

export function formatHostPort({ host, port }: HostPort): string {
  return `${shown(host)}:${port}`;
}

/** A bind address that stands for all interfaces: nobody can connect to it, so it is never told to clients. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

function shown(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function refuse(message: string): { ok: false; message: string } {
  return { ok: false, message };
}
