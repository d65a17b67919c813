import { formatHostPort, type HostPort, readBootstrapServers } from './address.ts';
import { judgeProperty, likelyProperty } from './client-properties.ts';
import type { Findings } from './findings.ts';
import { isKnown, type Unknown, unknown } from './known.ts';
import type { Path } from './places.ts';
import { fillReferences, hasReference } from './secret.ts';
import type { ClusterConfig } from './types.ts';
import { type MapTree, type Tree } from './yaml-tree.ts';

/** By name. A cluster whose entry has faults is there too, with what is known of it. */
export type Clusters = ReadonlyMap<string, ClusterConfig>;

const SERVERS = 'bootstrap.servers';
const TIMEOUT = 'socket.connection.setup.timeout.ms';

/** Unknown when there is no map of clusters at all: then no name can be told to be missing in it. */
export function readClusters(
  tree: Tree | undefined,
  findings: Findings,
  env: NodeJS.ProcessEnv,
): Clusters | Unknown {
  if (tree === undefined) {
    findings.fault(['clusters'], 'a map of clusters is missing');
    return unknown;
  }
  if (tree.kind !== 'map') {
    if (tree.kind !== 'unknown') {
      findings.fault(['clusters'], 'must be a map: name: { bootstrap.servers: "host:port" }');
    }
    return unknown;
  }
  const clusters = new Map<string, ClusterConfig>();
  for (const [name, { tree: entry }] of tree.entries) {
    const path: Path = ['clusters', name];
    if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/.test(name)) {
      findings.keyFault(path, 'a name has 1 to 100 letters, digits, ".", "_" or "-"');
    }
    clusters.set(name, readCluster(name, entry, path, findings, env));
  }
  return clusters;
}

function readCluster(
  name: string,
  tree: Tree,
  path: Path,
  findings: Findings,
  env: NodeJS.ProcessEnv,
): ClusterConfig {
  if (tree.kind !== 'map') {
    if (tree.kind !== 'unknown') {
      findings.fault(path, 'must be a map of Kafka client properties, at least bootstrap.servers');
    }
    return { name, properties: {}, bootstrap: [] };
  }
  const properties: Record<string, string> = {};
  let bootstrap: readonly HostPort[] = [];
  for (const key of tree.entries.keys()) {
    const text = readProperty(tree, key, path, findings, env);
    if (text === null) continue;
    properties[key] = text.filled;
    if (key === SERVERS) bootstrap = servers(text, [...path, key], findings);
    if (key === TIMEOUT && !/^[1-9]\d{0,8}$/.test(text.filled)) {
      findings.fault([...path, key], 'must be a whole number of milliseconds above 0');
    }
  }
  const meant = tree.entries.get(SERVERS);
  if (meant === undefined) {
    findings.fault([...path, SERVERS], 'bootstrap.servers is missing; write host:port');
  }
  return { name, properties, bootstrap };
}

interface PropertyText {
  readonly given: string;
  readonly filled: string;
}

/** null when it has no value that could be used; the fault is told then. */
function readProperty(
  { entries }: MapTree,
  key: string,
  path: Path,
  findings: Findings,
  env: NodeJS.ProcessEnv,
): PropertyText | null {
  const at: Path = [...path, key];
  const tree = entries.get(key)?.tree;
  if (tree === undefined) return null;
  const given = tree.kind === 'leaf' && tree.value !== null ? tree.text : null;
  // judged before references are filled in, so that a secret of an unusable property is never read
  const isOpen = key === 'security.protocol' && given !== null && hasReference(given);
  const verdict = isOpen ? ({ kind: 'used' } as const) : judgeProperty(key, given ?? 'PLAINTEXT');
  if (verdict.kind === 'unknown') {
    const near = likelyProperty(key);
    if (near === null || entries.has(near)) {
      findings.keyFault(at, verdict.message);
    } else {
      findings.keyFault(at, `${key} is not a client property that Isthmus knows; did you mean ${near}?`);
      // neither its absence nor what stands in it is told on top
      if (near === SERVERS) entries.set(near, { keyAt: tree.at, tree: { kind: 'unknown', at: tree.at } });
    }
    return null;
  }
  if (verdict.kind === 'later') {
    findings.keyFault(at, verdict.message);
    return null;
  }
  if (tree.kind === 'unknown') return null;
  if (given === null) {
    findings.fault(at, 'must be a text, a number, or true or false');
    return null;
  }
  if (verdict.kind === 'no-effect') {
    findings.keyWarning(at, 'this client property has no effect in Isthmus');
  }
  if (!hasReference(given)) return { given, filled: given };
  const filled = fillReferences(given, findings.places.file, env);
  if (!filled.ok) {
    for (const message of filled.messages) findings.fault(at, message);
    return null;
  }
  if (isOpen && judgeProperty(key, filled.value).kind !== 'used') {
    findings.keyFault(at, `${given} is not PLAINTEXT: TLS and SASL come later; use a plain-text listener`);
    return null;
  }
  return { given, filled: filled.value };
}

function servers({ given, filled }: PropertyText, path: Path, findings: Findings): readonly HostPort[] {
  const { addresses, messages } = readBootstrapServers(filled);
  if (messages.length > 0 && hasReference(given)) {
    // what a reference gives may be a secret that stands in the wrong place
    findings.fault(path, `what ${given} gives is no host:port or list of these (it is not shown here)`);
  } else {
    for (const message of messages) findings.fault(path, message);
  }
  return addresses;
}

/** The first address that two clusters have in common; null when there is none that is known. */
export function sharedAddress(a: ClusterConfig | undefined, b: ClusterConfig | undefined): string | null {
  const addresses = new Set(a?.bootstrap.map(comparable));
  const shared = b?.bootstrap.find((address) => addresses.has(comparable(address)));
  return shared === undefined ? null : formatHostPort(shared);
}

/** The state of a destination is taken over under one name; under two we would take it over from ourselves. */
export function judgeDestinations(
  destinations: ReadonlySet<string>,
  toldPairs: ReadonlySet<string>,
  clusters: Clusters | Unknown,
  findings: Findings,
): void {
  if (!isKnown(clusters)) return;
  const owners = new Map<string, string>();
  for (const name of clusters.keys()) {
    if (!destinations.has(name)) continue;
    for (const address of clusters.get(name)?.bootstrap ?? []) {
      const owner = owners.get(comparable(address)) ?? name;
      owners.set(comparable(address), owner);
      if (owner === name || toldPairs.has(pairOf(owner, name))) continue;
      const message = `${formatHostPort(address)} is an address of cluster ${owner} too; give gateways and mirrors of one cluster one name`;
      findings.fault(['clusters', name, SERVERS], message);
      break;
    }
  }
}

export function pairOf(a: string, b: string): string {
  return [a, b].toSorted().join(' ');
}

/** Names that may mean one host are told apart: whether it is one cluster, its id says when it is reached. */
function comparable({ host, port }: HostPort): string {
  return `${host.toLowerCase()} ${port}`;
}

export function unknownCluster(name: string, clusters: Clusters): string {
  const known =
    clusters.size === 0 ? 'there are none under clusters:' : `known are ${[...clusters.keys()].join(', ')}`;
  return `no cluster is named ${name === '' ? '""' : name}; ${known}`;
}
