import { type HostPort, isWildcard, parseHostPort } from './address.ts';
import { knownClusters, type Placed } from './mirror-rules.ts';
import type { Path, Places } from './places.ts';
import { parseNumbers } from './ranges.ts';
import type { GatewayInput, MirrorInput } from './schema.ts';
import type { Fault, GatewayConfig } from './types.ts';

/** One port that will be bound, to find two that want the same. */
export interface WantedPort {
  readonly host: string;
  readonly port: number;
  readonly what: string;
  readonly path: Path;
}

const MIB = 1024 * 1024;

export const gatewayLimitDefaults = {
  maxFrameBytes: 100 * MIB,
  maxConnectionsPerAddress: 1_000,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 600_000,
  delayedCloseMs: 1_000,
};

/** Checks one gateway and builds its configuration; null when a fault stands in the way. */
export function buildGateway(
  { value: gateway, path }: Placed<GatewayInput>,
  clusters: ReadonlyMap<string, unknown>,
  mirrors: readonly Placed<MirrorInput>[],
  places: Places,
  wanted: WantedPort[],
): { config: GatewayConfig | null; faults: Fault[] } {
  const faults: Fault[] = [];
  const fault = (rest: Path, message: string): void => {
    faults.push(places.fault([...path, ...rest], message));
  };
  for (const key of ['tls', 'sasl', 'virtual'] as const) {
    if (gateway[key] === undefined) continue;
    const what = key === 'virtual' ? 'virtual clusters come' : `${key.toUpperCase()} comes`;
    faults.push(places.keyFault([...path, key], `${what} later; remove the key`));
  }
  if (!clusters.has(gateway.cluster)) {
    fault(['cluster'], `no cluster is named ${gateway.cluster}; ${knownClusters(clusters)}`);
  }

  const bind = parseHostPort(gateway.bind);
  if (!bind.ok) fault(['bind'], bind.message);
  const advertise = advertised(gateway, bind.ok ? bind.value : null, fault);

  const ids = parseNumbers(gateway.nodeIds, 0, 0x7fffffff);
  if (!ids.ok) fault(['nodeIds'], ids.message);
  const ports = parseNumbers(gateway.brokerPorts, 1, 65_535);
  if (!ports.ok) fault(['brokerPorts'], ports.message);
  if (ids.ok && ports.ok && ids.value.length !== ports.value.length) {
    fault(
      ['brokerPorts'],
      `${ports.value.length} ports for ${ids.value.length} node ids; they are matched in order, so the counts must agree`,
    );
  }
  if (bind.ok) {
    wanted.push({ ...bind.value, what: `gateway ${gateway.name} bind`, path: [...path, 'bind'] });
    for (const port of ports.ok ? ports.value : []) {
      const what = `gateway ${gateway.name} broker port`;
      wanted.push({ host: bind.value.host, port, what, path: [...path, 'brokerPorts'] });
    }
  }
  mirrorRole(gateway, mirrors, fault);

  if (faults.length > 0 || !bind.ok || !ids.ok || !ports.ok || advertise === null)
    return { config: null, faults };
  return {
    faults,
    config: {
      name: gateway.name,
      cluster: gateway.cluster,
      role: gateway.role,
      mirror: gateway.mirror ?? null,
      bind: bind.value,
      advertise,
      brokerPorts: new Map(ids.value.map((id, index) => [id, ports.value[index] as number])),
      readOnlyError: gateway.readOnlyError,
      limits: { ...gatewayLimitDefaults, ...withoutUndefined(gateway.limits ?? {}) },
    },
  };
}

function advertised(
  gateway: GatewayInput,
  bind: HostPort | null,
  fault: (rest: Path, message: string) => void,
): string | null {
  if (gateway.advertise === undefined) {
    if (bind === null) return null;
    if (!isWildcard(bind.host)) return bind.host;
    fault(
      ['bind'],
      `${bind.host} is every interface and no address that clients can use; add advertise: HOST`,
    );
    return null;
  }
  const host = gateway.advertise.trim().replace(/^\[(.*)\]$/, '$1');
  const withPort = parseHostPort(host.includes(':') ? `[${host}]:1` : `${host}:1`);
  if (withPort.ok && isWildcard(host)) {
    fault(['advertise'], `${host} is every interface and no address that clients can use; name a host`);
    return null;
  }
  if (withPort.ok) return host;
  const message = parseHostPort(gateway.advertise).ok
    ? `"${gateway.advertise}" has a port; advertise is a host only, the ports are those of bind and brokerPorts`
    : `"${gateway.advertise}" is not a host name or address`;
  fault(['advertise'], message);
  return null;
}

function mirrorRole(
  gateway: GatewayInput,
  mirrors: readonly Placed<MirrorInput>[],
  fault: (rest: Path, message: string) => void,
): void {
  if (gateway.role === 'client') {
    if (gateway.mirror !== undefined) fault(['mirror'], 'only a gateway with role: mirror names a mirror');
    return;
  }
  if (gateway.mirror === undefined) {
    fault(['role'], 'role: mirror also needs mirror: NAME');
    return;
  }
  const mirror = mirrors.find(({ value }) => value.name === gateway.mirror)?.value;
  if (mirror === undefined) {
    fault(['mirror'], `no mirror is named ${gateway.mirror}`);
    return;
  }
  if (mirror.destination !== gateway.cluster) {
    fault(
      ['mirror'],
      `mirror ${mirror.name} writes to ${mirror.destination}, but this gateway leads to ${gateway.cluster}`,
    );
  }
  if (mirror.copier !== 'external') {
    fault(
      ['mirror'],
      `mirror ${mirror.name} is copied by its own link; set copier: external there to copy through this gateway`,
    );
  }
}

/** Two listeners that want one port; the fault stands at the second. */
export function portFaults(wanted: readonly WantedPort[], places: Places): Fault[] {
  const faults: Fault[] = [];
  const told = new Set<string>();
  wanted.forEach((here, index) => {
    const other = wanted
      .slice(0, index)
      .find((there) => there.port === here.port && hostsMeet(there.host, here.host));
    if (other === undefined) return;
    const message = `port ${here.port} is already that of ${other.what}`;
    const key = `${here.path.join('.')} ${other.what}`;
    if (told.has(key)) return;
    told.add(key);
    faults.push(places.fault(here.path, message));
  });
  return faults;
}

function hostsMeet(a: string, b: string): boolean {
  const plain = (host: string): string =>
    host === 'localhost' || host === '::1' ? '127.0.0.1' : host.toLowerCase();
  return plain(a) === plain(b) || isWildcard(a) || isWildcard(b);
}

export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}
