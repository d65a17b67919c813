import { isWildcard, sameHost } from './address.ts';
import type { Findings } from './findings.ts';
import type { Path } from './places.ts';
import { showNumbers } from './ranges.ts';

/** One port that will be bound, to find two that want the same. */
export interface WantedPort {
  /** null when a fault stands in its way; then only a port of every interface is sure to be the same. */
  readonly host: string | null;
  readonly port: number;
  readonly what: string;
  readonly path: Path;
}

/** Two listeners that want one port; told once for each pair of them, at the second. */
export function judgePorts(wanted: readonly WantedPort[], findings: Findings): void {
  const byPort = new Map<number, WantedPort[]>();
  const pairs = new Map<string, { here: WantedPort; there: WantedPort; ports: Set<number> }>();
  for (const here of wanted) {
    const before = byPort.get(here.port) ?? [];
    byPort.set(here.port, [...before, here]);
    const there = before.find((other) => hostsMeet(other.host, here.host));
    // a number given twice in one list is told as that
    if (there === undefined || there.path === here.path) continue;
    const key = `${here.path.join('.')} ${there.path.join('.')}`;
    const pair = pairs.get(key) ?? { here, there, ports: new Set() };
    pair.ports.add(here.port);
    pairs.set(key, pair);
  }
  for (const { here, there, ports } of pairs.values()) {
    const noun = ports.size === 1 ? 'port' : 'ports';
    const line = findings.places.lineOf(there.path);
    const message = `${noun} ${showNumbers([...ports])} taken by ${there.what} (line ${line}); choose another`;
    findings.fault(here.path, message);
  }
}

function hostsMeet(a: string | null, b: string | null): boolean {
  if (a !== null && isWildcard(a)) return true;
  if (b !== null && isWildcard(b)) return true;
  return a !== null && b !== null && sameHost(a) === sameHost(b);
}
