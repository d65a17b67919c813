import type { Findings } from './findings.ts';
import type { Path } from './places.ts';
import { coveredBy, SlowPattern, type TopicEntry } from './topic-entries.ts';

/** What one mirror takes, as far as it is known. */
export interface MirrorTopics {
  /** null = its name has a fault. */
  readonly mirror: string | null;
  /** null = unknown: it is compared with no other. */
  readonly destination: string | null;
  readonly include: readonly PlacedEntry[];
  /** null = unknown: any topic may be excluded. */
  readonly exclude: readonly TopicEntry[] | null;
}

export interface PlacedEntry {
  readonly entry: TopicEntry;
  readonly text: string;
  readonly path: Path;
}

interface Owner {
  readonly mirror: MirrorTopics;
  readonly placed: PlacedEntry;
}

/** What the mirrors before take of one destination. */
interface Taken {
  readonly literals: Map<string, Owner>;
  readonly patterns: Owner[];
}

/** A topic of a destination has one mirror. Two patterns are only compared by text: more can't be decided here. */
export function judgeOwners(mirrors: readonly MirrorTopics[], findings: Findings): void {
  const byDestination = new Map<string, Taken>();
  for (const mirror of mirrors) {
    const { destination, exclude } = mirror;
    if (destination === null || exclude === null) continue;
    const taken = byDestination.get(destination) ?? { literals: new Map(), patterns: [] };
    byDestination.set(destination, taken);
    try {
      for (const [placed, owner] of ownersOf(mirror, exclude, taken)) {
        const { entry, text, path } = placed;
        const what = entry.kind === 'literal' ? `topic ${entry.name}` : `topics of ${text}`;
        const whose =
          owner.mirror.mirror === null
            ? `the mirror of line ${findings.places.lineOf(owner.placed.path)}`
            : `mirror ${owner.mirror.mirror}`;
        findings.fault(
          path,
          `${what} on ${destination} already belongs to ${whose} (${owner.placed.text}); a topic has one mirror, so leave it out of one`,
        );
      }
      take(mirror, exclude, taken);
    } catch (cause) {
      if (!(cause instanceof SlowPattern)) throw cause;
      findings.fault(mirror.include[0]?.path.slice(0, -1) ?? [], cause.message);
    }
  }
}

/** Entries of the mirror that mean what another one has, with the first that has it. All names at once: each match costs. */
function ownersOf(
  { include }: MirrorTopics,
  exclude: readonly TopicEntry[],
  { literals, patterns }: Taken,
): Map<PlacedEntry, Owner> {
  const owned = new Map<PlacedEntry, Owner>();
  const own = namesOf(include);
  const excluded = coveredBy(exclude, own);
  const underPatterns = patterns.map((owner) => {
    const left = coveredBy(owner.mirror.exclude ?? [], own);
    const names = coveredBy([owner.placed.entry], own);
    return { owner, has: (name: string) => names.has(name) && !left.has(name) };
  });
  const others = [...literals.keys()];
  const othersExcluded = coveredBy(exclude, others);
  for (const placed of include) {
    const { entry, text } = placed;
    let owner: Owner | undefined;
    if (entry.kind === 'literal' && !excluded.has(entry.name)) {
      owner = literals.get(entry.name) ?? underPatterns.find(({ has }) => has(entry.name))?.owner;
    } else if (entry.kind === 'pattern') {
      const matched = coveredBy([entry], others);
      const name = others.find((one) => matched.has(one) && !othersExcluded.has(one));
      owner =
        patterns.find((one) => one.placed.text === text) ??
        (name === undefined ? undefined : literals.get(name));
    }
    if (owner !== undefined) owned.set(placed, owner);
  }
  return owned;
}

function take(mirror: MirrorTopics, exclude: readonly TopicEntry[], { literals, patterns }: Taken): void {
  const excluded = coveredBy(exclude, namesOf(mirror.include));
  for (const placed of mirror.include) {
    const { entry } = placed;
    if (entry.kind === 'pattern') patterns.push({ mirror, placed });
    if (entry.kind !== 'literal' || excluded.has(entry.name) || literals.has(entry.name)) continue;
    literals.set(entry.name, { mirror, placed });
  }
}

function namesOf(entries: readonly PlacedEntry[]): string[] {
  return entries.flatMap(({ entry }) => (entry.kind === 'literal' ? [entry.name] : []));
}
