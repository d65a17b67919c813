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
  const found: HostPort[] = [];
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const parsed = parseHostPort(part);
    if (!parsed.ok) return parsed;
    const key = formatHostPort(parsed.value);
    if (!seen.has(key)) found.push(parsed.value);
    seen.add(key);
  }
  if (found.length === 0) return refuse('no address; write host:port, more than one separated by commas');
  return { ok: true, value: found };
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
