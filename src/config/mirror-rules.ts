import { type HostPort, formatHostPort } from './address.ts';
import type { Path, Places } from './places.ts';
import type { MirrorInput } from './schema.ts';
import { covers, isPattern, parsePattern, parseTopicEntry, type TopicEntry } from './topic-entries.ts';
import type { Fault } from './types.ts';

export interface Placed<T> {
  readonly value: T;
  readonly path: Path;
}

/** Checks of mirrors that need more than one place: names, clusters, patterns, two mirrors for one topic. */
export function mirrorFaults(
  mirrors: readonly Placed<MirrorInput>[],
  clusters: ReadonlyMap<string, readonly HostPort[]>,
  places: Places,
): { faults: Fault[]; warnings: Fault[] } {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const names = new Map<string, Placed<MirrorInput>>();
  for (const { value: mirror, path } of mirrors) {
    const at = (...rest: Path): Path => [...path, ...rest];
    if (names.has(mirror.name))
      faults.push(places.fault(at('name'), `a second mirror named ${mirror.name}; names are unique`));
    names.set(mirror.name, { value: mirror, path });
    for (const end of ['source', 'destination'] as const) {
      if (clusters.has(mirror[end])) continue;
      faults.push(places.fault(at(end), `no cluster is named ${mirror[end]}; ${knownClusters(clusters)}`));
    }
    const same = sameCluster(mirror, clusters);
    if (same !== null) faults.push(places.fault(at('destination'), same));
    for (const list of ['include', 'exclude'] as const) {
      mirror.topics[list].forEach((entry, index) => {
        const parsed = isPattern(entry) || list === 'include' ? parseTopicEntry(entry) : null;
        if (parsed?.kind === 'bad') faults.push(places.fault(at('topics', list, index), parsed.message));
      });
      mirror.groups?.[list].forEach((entry, index) => {
        const parsed = isPattern(entry) ? parsePattern(entry) : null;
        if (parsed?.kind === 'bad') faults.push(places.fault(at('groups', list, index), parsed.message));
      });
    }
    faults.push(...laterFaults(mirror, at, places));
    if (mirror.groups !== undefined) {
      warnings.push(
        places.keyFault(
          at('groups'),
          'group offsets are not synced yet (that comes later); the entry is kept for then',
        ),
      );
    }
    if (mirror.topics.include.length === 0) {
      warnings.push(
        places.fault(
          at('topics', 'include'),
          'no topic is named; nothing is mirrored until `mirror start` names one',
        ),
      );
    }
  }
  faults.push(...overlaps(mirrors, places));
  return { faults, warnings };
}

function laterFaults(mirror: MirrorInput, at: (...rest: Path) => Path, places: Places): Fault[] {
  const faults: Fault[] = [];
  if (mirror.acls !== undefined)
    faults.push(places.keyFault(at('acls'), 'the sync of ACLs comes later; remove the key'));
  if (mirror.lineage !== undefined) {
    faults.push(places.keyFault(at('lineage'), 'lineage checks come later; remove the key'));
  }
  return [
    ...faults,
    ...laterLinkFaults(mirror.link, at('link'), places),
    ...laterAppendFaults(mirror.append, at('append'), places),
  ];
}

export function laterLinkFaults(link: MirrorInput['link'], path: Path, places: Places): Fault[] {
  if (link?.maxBytesPerSecond === undefined) return [];
  return [places.keyFault([...path, 'maxBytesPerSecond'], 'a bound on the rate comes later; remove the key')];
}

export function laterAppendFaults(append: MirrorInput['append'], path: Path, places: Places): Fault[] {
  const faults: Fault[] = [];
  if (append?.moveLeadership === true) {
    faults.push(
      places.fault(
        [...path, 'moveLeadership'],
        'moving leaderships comes later; leave it out or say false (probes are used)',
      ),
    );
  }
  if (append?.taintHold !== undefined) {
    faults.push(
      places.keyFault(
        [...path, 'taintHold'],
        'tainted brokers come later, with moveLeadership; remove the key',
      ),
    );
  }
  return faults;
}

export function knownClusters(clusters: ReadonlyMap<string, unknown>): string {
  return clusters.size === 0
    ? 'there are none under clusters:'
    : `known are ${[...clusters.keys()].join(', ')}`;
}

function sameCluster(mirror: MirrorInput, clusters: ReadonlyMap<string, readonly HostPort[]>): string | null {
  if (mirror.source === mirror.destination) {
    return `source and destination are both ${mirror.source}; a mirror needs two clusters`;
  }
  const source = new Set(clusters.get(mirror.source)?.map(formatHostPort));
  const shared = clusters
    .get(mirror.destination)
    ?.map(formatHostPort)
    .find((address) => source.has(address));
  if (shared === undefined) return null;
  return `clusters ${mirror.source} and ${mirror.destination} share the address ${shared}; a mirror needs two clusters`;
}

interface PlacedEntry {
  readonly mirror: MirrorInput;
  readonly entry: TopicEntry;
  readonly text: string;
  readonly path: Path;
}

/** A topic of a destination has one mirror. Two patterns are only compared by text: more can't be decided here. */
function overlaps(mirrors: readonly Placed<MirrorInput>[], places: Places): Fault[] {
  const faults: Fault[] = [];
  const before: PlacedEntry[] = [];
  for (const { value: mirror, path } of mirrors) {
    const own: PlacedEntry[] = mirror.topics.include.map((text, index) => ({
      mirror,
      entry: parseTopicEntry(text),
      text,
      path: [...path, 'topics', 'include', index],
    }));
    for (const here of own) {
      const other = before.find(
        (there) => there.mirror.destination === mirror.destination && collide(there, here),
      );
      if (other === undefined) continue;
      const what = here.entry.kind === 'literal' ? `topic ${here.entry.name}` : `topics of ${here.text}`;
      faults.push(
        places.fault(
          here.path,
          `${what} on ${mirror.destination} already belongs to mirror ${other.mirror.name} (${other.text}); a topic has one mirror`,
        ),
      );
    }
    before.push(...own);
  }
  return faults;
}

function collide(a: PlacedEntry, b: PlacedEntry): boolean {
  if (a.entry.kind === 'pattern' && b.entry.kind === 'pattern') return a.text === b.text;
  const literal =
    a.entry.kind === 'literal' ? a.entry.name : b.entry.kind === 'literal' ? b.entry.name : null;
  return literal !== null && takes(a, literal) && takes(b, literal);
}

function takes({ mirror, entry }: PlacedEntry, topic: string): boolean {
  const excluded = mirror.topics.exclude.some(
    (text) => text === topic || covers(parseTopicEntry(text), topic),
  );
  return !excluded && covers(entry, topic);
}
