import { formatHostPort, type HostPort, hostOf, isWildcard, parseHostPort, sameHost } from './address.ts';
import { type Clusters, unknownCluster } from './cluster-rules.ts';
import type { Findings } from './findings.ts';
import { isKnown, type Known, knownItems, type Unknown } from './known.ts';
import type { Path } from './places.ts';
import type { WantedPort } from './port-rules.ts';
import { type Numbers, readNumbers } from './ranges.ts';
import type { GatewayInput, MirrorInput } from './schema.ts';
import type { GatewayConfig } from './types.ts';

type Given = Known<GatewayInput>;
type Mirrors = readonly (Known<MirrorInput> | Unknown)[] | Unknown;

const MIB = 1024 * 1024;

export const gatewayLimitDefaults = {
  maxFrameBytes: 100 * MIB,
  maxConnectionsPerAddress: 1_000,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 600_000,
  delayedCloseMs: 1_000,
};

/** Judges all gateways; a configuration is built of those without a fault. */
export function readGateways(
  gateways: readonly (Given | Unknown)[] | Unknown,
  clusters: Clusters | Unknown,
  mirrors: Mirrors,
  findings: Findings,
): { readonly configs: GatewayConfig[]; readonly wanted: WantedPort[] } {
  const configs: GatewayConfig[] = [];
  const wanted: WantedPort[] = [];
  const names = new Set<string>();
  for (const [index, gateway] of isKnown(gateways) ? gateways.entries() : []) {
    if (!isKnown(gateway)) continue;
    const path: Path = ['gateways', index];
    if (isKnown(gateway.name)) {
      if (names.has(gateway.name)) {
        findings.fault([...path, 'name'], `a second gateway named ${gateway.name}; names are unique`);
      }
      names.add(gateway.name);
    }
    judgeCluster(gateway, path, clusters, findings);
    judgeLater(gateway, path, findings);
    judgeMirrorRole(gateway, path, mirrors, findings);
    const own: WantedPort[] = [];
    const config = readAddresses(gateway, path, findings, own);
    judgeLeadsToItself(gateway, own, clusters, findings);
    wanted.push(...own);
    if (config !== null) configs.push(config);
  }
  return { configs, wanted };
}

function judgeCluster(gateway: Given, path: Path, clusters: Clusters | Unknown, findings: Findings): void {
  const { cluster } = gateway;
  if (!isKnown(cluster) || !isKnown(clusters) || clusters.has(cluster)) return;
  findings.fault([...path, 'cluster'], unknownCluster(cluster, clusters));
}

/** It would wait for itself, and so would every client. */
function judgeLeadsToItself(
  gateway: Given,
  own: readonly WantedPort[],
  clusters: Clusters | Unknown,
  findings: Findings,
): void {
  const { cluster: name, advertise } = gateway;
  if (!isKnown(name) || !isKnown(clusters)) return;
  const ports = new Map(own.map((wanted) => [wanted.port, wanted]));
  for (const address of clusters.get(name)?.bootstrap ?? []) {
    const there = ports.get(address.port);
    if (there === undefined) continue;
    const host = sameHost(address.host);
    const isThere =
      (isKnown(advertise) && advertise !== undefined && sameHost(advertise.trim()) === host) ||
      (there.host !== null &&
        (sameHost(there.host) === host || (isWildcard(there.host) && host === '127.0.0.1')));
    if (!isThere) continue;
    findings.fault(
      ['clusters', name, 'bootstrap.servers'],
      `${formatHostPort(address)} is ${there.what}, which would lead to itself; write addresses of brokers`,
    );
  }
}

function judgeLater(gateway: Given, path: Path, findings: Findings): void {
  for (const key of ['tls', 'sasl', 'virtual'] as const) {
    if (gateway[key] === undefined) continue;
    const what = key === 'virtual' ? 'virtual clusters come' : `${key.toUpperCase()} comes`;
    findings.keyFault([...path, key], `${what} later; remove the key`);
  }
}

function readAddresses(
  gateway: Given,
  path: Path,
  findings: Findings,
  wanted: WantedPort[],
): GatewayConfig | null {
  const bind = readBind(gateway, path, findings);
  const advertise = readAdvertise(gateway, bind.host, path, findings);
  const ids = numbersOf(gateway.nodeIds, 0, 0x7fffffff);
  const ports = numbersOf(gateway.brokerPorts, 1, 65_535);
  for (const message of ids?.messages ?? []) findings.fault([...path, 'nodeIds'], message);
  for (const message of ports?.messages ?? []) findings.fault([...path, 'brokerPorts'], message);
  const areWhole = ids?.messages.length === 0 && ports?.messages.length === 0;
  if (areWhole && ids.numbers.length !== ports.numbers.length) {
    const message = `${ports.numbers.length} ports for ${ids.numbers.length} node ids; they are matched in order, so the counts must agree`;
    findings.fault([...path, 'brokerPorts'], message);
  }
  const name = isKnown(gateway.name) ? `gateway ${gateway.name}` : 'another gateway';
  if (bind.address !== null) {
    wanted.push({ ...bind.address, what: `bind of ${name}`, path: [...path, 'bind'] });
  }
  const portsPath: Path = [...path, 'brokerPorts'];
  for (const port of ports?.numbers ?? []) {
    wanted.push({ host: bind.host, port, what: `brokerPorts of ${name}`, path: portsPath });
  }
  const { address } = bind;
  if (!areWhole || address === null || advertise === null || !isWholeGateway(gateway)) return null;
  return {
    name: gateway.name,
    cluster: gateway.cluster,
    role: gateway.role,
    mirror: gateway.mirror ?? null,
    bind: address,
    advertise,
    brokerPorts: new Map(ids.numbers.map((id, index) => [id, ports.numbers[index] as number])),
    readOnlyError: gateway.readOnlyError,
    limits: { ...gatewayLimitDefaults, ...withoutUndefined(gateway.limits ?? {}) },
  };
}

function isWholeGateway(gateway: Given): gateway is GatewayInput {
  const parts = [
    ...Object.values(gateway),
    ...Object.values(isKnown(gateway.limits) ? (gateway.limits ?? {}) : {}),
  ];
  return parts.every(isKnown);
}

function numbersOf(given: Given['nodeIds'], lowest: number, highest: number): Numbers | null {
  // the parts of a list are of a union, and so are known when the list is
  return isKnown(given) ? readNumbers(given as GatewayInput['nodeIds'], lowest, highest) : null;
}

/** The host may be known when the port is not. */
function readBind(
  { bind }: Given,
  path: Path,
  findings: Findings,
): { readonly address: HostPort | null; readonly host: string | null } {
  if (!isKnown(bind)) return { address: null, host: null };
  const parsed = parseHostPort(bind);
  if (parsed.ok) return { address: parsed.value, host: parsed.value.host };
  findings.fault([...path, 'bind'], parsed.message);
  return { address: null, host: hostOf(bind) };
}

function readAdvertise(
  { advertise }: Given,
  bindHost: string | null,
  path: Path,
  findings: Findings,
): string | null {
  if (!isKnown(advertise)) return null;
  if (advertise === undefined) {
    if (bindHost === null || !isWildcard(bindHost)) return bindHost;
    findings.fault(
      [...path, 'bind'],
      `${bindHost} is every interface and no address that clients can use; add advertise: HOST`,
    );
    return null;
  }
  const host = advertise.trim().replace(/^\[(.*)\]$/, '$1');
  const withPort = parseHostPort(host.includes(':') ? `[${host}]:1` : `${host}:1`);
  if (withPort.ok && !isWildcard(host)) return host;
  let message = `"${advertise}" is not a host name or address`;
  if (withPort.ok) message = `${host} is every interface and no address that clients can use; name a host`;
  else if (parseHostPort(advertise).ok) {
    message = `"${advertise}" has a port; advertise is a host only, the ports are those of bind and brokerPorts`;
  }
  findings.fault([...path, 'advertise'], message);
  return null;
}

function judgeMirrorRole(gateway: Given, path: Path, mirrors: Mirrors, findings: Findings): void {
  const { role, mirror: name } = gateway;
  const at: Path = [...path, 'mirror'];
  if (!isKnown(role) || !isKnown(name)) return;
  if (role === 'client') {
    if (name !== undefined) findings.fault(at, 'only a gateway with role: mirror names a mirror');
    return;
  }
  if (name === undefined) {
    findings.fault([...path, 'role'], 'role: mirror also needs mirror: NAME');
    return;
  }
  const known = knownItems(mirrors);
  const mirror = known.find((one) => one.name === name);
  if (mirror === undefined) {
    // one whose name has a fault may be meant
    const areAllNamed = isKnown(mirrors) && mirrors.every((one) => isKnown(one) && isKnown(one.name));
    if (areAllNamed) findings.fault(at, unknownMirror(name, known));
    return;
  }
  const { destination, copier } = mirror;
  if (isKnown(destination) && isKnown(gateway.cluster) && destination !== gateway.cluster) {
    findings.fault(
      at,
      `mirror ${name} writes to ${destination}, but this gateway leads to ${gateway.cluster}`,
    );
  }
  if (copier === 'link') {
    findings.fault(
      at,
      `mirror ${name} is copied by its own link; set copier: external there to copy through this gateway`,
    );
  }
}

function unknownMirror(name: string, mirrors: readonly Known<MirrorInput>[]): string {
  const names = mirrors.map((one) => String(one.name));
  return `no mirror is named ${name}; ${names.length === 0 ? 'there are none under mirrors:' : `known are ${names.join(', ')}`}`;
}

export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
}
