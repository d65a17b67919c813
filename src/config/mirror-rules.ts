import { type Clusters, judgeDestinations, pairOf, sharedAddress, unknownCluster } from './cluster-rules.ts';
import type { Findings } from './findings.ts';
import { isKnown, type Known, knownItems, type Unknown } from './known.ts';
import { judgeOwners, type MirrorTopics } from './mirror-topics.ts';
import type { Path } from './places.ts';
import type { GatewayInput, MirrorInput } from './schema.ts';
import {
  isLikelyGlob,
  isPattern,
  parseExcludedTopic,
  parsePattern,
  parseTopicEntry,
  slowness,
  type TopicEntry,
} from './topic-entries.ts';

type Given = Known<MirrorInput>;
type Gateways = readonly (Known<GatewayInput> | Unknown)[] | Unknown;

/** Checks of mirrors that need more than one place: names, clusters, patterns, two mirrors for one topic. */
export function judgeMirrors(
  mirrors: readonly (Given | Unknown)[] | Unknown,
  gateways: Gateways,
  clusters: Clusters | Unknown,
  findings: Findings,
): void {
  const names = new Set<string>();
  const topics: MirrorTopics[] = [];
  const samePairs = new Set<string>();
  for (const [index, mirror] of isKnown(mirrors) ? mirrors.entries() : []) {
    if (!isKnown(mirror)) continue;
    const path: Path = ['mirrors', index];
    if (isKnown(mirror.name)) {
      if (names.has(mirror.name)) {
        findings.fault([...path, 'name'], `a second mirror named ${mirror.name}; names are unique`);
      }
      names.add(mirror.name);
    }
    judgeEnds(mirror, path, clusters, samePairs, findings);
    topics.push(readTopics(mirror, path, findings));
    judgeGroups(mirror, path, findings);
    judgeLater(mirror, path, findings);
    warnUnguarded(mirror, path, gateways, clusters, findings);
  }
  judgeOwners(topics, findings);
  const destinations = [
    ...knownItems(mirrors).map(({ destination }) => destination),
    ...knownItems(gateways).map(({ cluster }) => cluster),
  ];
  judgeDestinations(new Set(destinations.filter(isKnown)), samePairs, clusters, findings);
}

function judgeEnds(
  mirror: Given,
  path: Path,
  clusters: Clusters | Unknown,
  samePairs: Set<string>,
  findings: Findings,
): void {
  const { source, destination } = mirror;
  if (isKnown(clusters)) {
    for (const end of ['source', 'destination'] as const) {
      const name = mirror[end];
      if (isKnown(name) && !clusters.has(name))
        findings.fault([...path, end], unknownCluster(name, clusters));
    }
  }
  if (!isKnown(source) || !isKnown(destination)) return;
  const at: Path = [...path, 'destination'];
  if (source === destination) {
    findings.fault(at, `source and destination are both ${source}; a mirror needs two clusters`);
    return;
  }
  if (!isKnown(clusters)) return;
  const shared = sharedAddress(clusters.get(source), clusters.get(destination));
  if (shared === null) return;
  samePairs.add(pairOf(source, destination));
  findings.fault(
    at,
    `clusters ${source} and ${destination} share the address ${shared}; a mirror needs two clusters`,
  );
}

function readTopics(mirror: Given, path: Path, findings: Findings): MirrorTopics {
  const { name, destination, topics } = mirror;
  const known = isKnown(topics) ? topics : undefined;
  const read = (
    list: 'include' | 'exclude',
    parse: (text: string) => TopicEntry,
  ): MirrorTopics['include'] => {
    const entries = known?.[list];
    if (entries === undefined || !isKnown(entries)) return [];
    return entries.map((text, index) => {
      const at: Path = [...path, 'topics', list, index];
      if (!isKnown(text)) return { text: '', path: at, entry: { kind: 'bad', message: '' } };
      return { text, path: at, entry: judged(parse(text), at, findings) };
    });
  };
  const include = read('include', parseTopicEntry);
  const exclude = read('exclude', parseExcludedTopic);
  if (known !== undefined && isKnown(known.include) && known.include.length === 0) {
    findings.warning(
      [...path, 'topics', 'include'],
      'no topic is named; nothing is mirrored until `mirror start` names one',
    );
  }
  const isExcludeWhole =
    known !== undefined && isKnown(known.exclude) && exclude.every(({ entry }) => entry.kind !== 'bad');
  return {
    mirror: isKnown(name) ? name : null,
    destination: isKnown(destination) ? destination : null,
    include,
    exclude: isExcludeWhole ? exclude.map(({ entry }) => entry) : null,
  };
}

/** A pattern that would hold the process up is as bad as one that is none. */
function judged(entry: TopicEntry, at: Path, findings: Findings): TopicEntry {
  const message = entry.kind === 'bad' ? entry.message : slowness(entry);
  if (isLikelyGlob(entry)) {
    findings.warning(at, 'in a regular expression * repeats the letter before it; .* is any text');
  }
  if (message === null) return entry;
  findings.fault(at, message);
  return { kind: 'bad', message };
}

function judgeGroups(mirror: Given, path: Path, findings: Findings): void {
  const { groups } = mirror;
  if (groups === undefined) return;
  findings.keyWarning(
    [...path, 'groups'],
    'group offsets are not synced yet (that comes later); the entry is kept for then',
  );
  if (!isKnown(groups)) return;
  for (const list of ['include', 'exclude'] as const) {
    const entries = groups[list];
    if (!isKnown(entries)) continue;
    for (const [index, text] of entries.entries()) {
      if (isKnown(text) && isPattern(text)) {
        judged(parsePattern(text), [...path, 'groups', list, index], findings);
      }
    }
  }
}

function judgeLater(mirror: Given, path: Path, findings: Findings): void {
  if (mirror.acls !== undefined) {
    findings.keyFault([...path, 'acls'], 'the sync of ACLs comes later; remove the key');
  }
  if (mirror.lineage !== undefined) {
    findings.keyFault([...path, 'lineage'], 'lineage checks come later; remove the key');
  }
  judgeLaterLink(mirror.link, [...path, 'link'], findings);
  judgeLaterAppend(mirror.append, [...path, 'append'], findings);
}

export function judgeLaterLink(link: Given['link'], path: Path, findings: Findings): void {
  if (link === undefined || !isKnown(link) || link.maxBytesPerSecond === undefined) return;
  findings.keyFault([...path, 'maxBytesPerSecond'], 'a bound on the rate comes later; remove the key');
}

export function judgeLaterAppend(append: Given['append'], path: Path, findings: Findings): void {
  if (append === undefined || !isKnown(append)) return;
  if (append.moveLeadership === true) {
    findings.fault(
      [...path, 'moveLeadership'],
      'moving leaderships comes later; leave it out or say false (probes are used)',
    );
  }
  if (append.taintHold !== undefined) {
    findings.keyFault(
      [...path, 'taintHold'],
      'tainted brokers come later, with moveLeadership; remove the key',
    );
  }
}

/** Only when it is sure: a gateway of which cluster or role is unknown may be the one. */
function warnUnguarded(
  { destination }: Given,
  path: Path,
  gateways: Gateways,
  clusters: Clusters | Unknown,
  findings: Findings,
): void {
  if (!isKnown(destination) || !isKnown(gateways)) return;
  if (!isKnown(clusters) || !clusters.has(destination)) return;
  const leads = gateways.some(
    (one) =>
      !isKnown(one) ||
      ((!isKnown(one.cluster) || one.cluster === destination) &&
        (!isKnown(one.role) || one.role === 'client')),
  );
  if (leads) return;
  const message = `no gateway leads to ${destination}: verbs and the read-only guard need one`;
  findings.warning([...path, 'destination'], message);
}
