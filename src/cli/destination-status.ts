/** What a process tells of one destination, besides its partitions (`status` of the private API). */
export interface DestinationStatus {
  readonly destination?: string;
  /** `fresh`, `stale` or `loading`. */
  readonly freshness?: string;
  /** State partitions that are out of reach, each with the reason and the way out. */
  readonly stateOutages?: readonly string[];
  /** Counts the processes that ran this destination, from 1. */
  readonly incarnation?: number;
  readonly fenced?: boolean;
  readonly mirrors?: readonly MirrorTrouble[];
}

export interface MirrorTrouble {
  readonly mirror: string;
  readonly error?: string | null;
  /** How the entry in the file differs from the state, which wins. */
  readonly drift?: readonly string[];
}

const KNOWN = new Set(['destination', 'freshness', 'stateOutages', 'incarnation', 'fenced', 'mirrors']);

/** One line for the destination, one for each drift; whatever a newer gateway tells besides as it is. */
export function destinationText(status: DestinationStatus & Readonly<Record<string, unknown>>): string {
  const lines: string[] = [];
  if (status.destination !== undefined) {
    lines.push(
      `destination ${status.destination}: ${stateText(status)}; run by process ${status.incarnation ?? '?'} since its state began`,
    );
  }
  lines.push(...(status.stateOutages ?? []));
  for (const { mirror, drift } of status.mirrors ?? []) {
    for (const difference of drift ?? []) lines.push(`${mirror} differs from the file: ${difference}`);
  }
  for (const [key, value] of Object.entries(status)) {
    if (KNOWN.has(key) || value === null || value === '') continue;
    lines.push(`${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function stateText({ freshness, fenced, stateOutages }: DestinationStatus): string {
  if (fenced === true) return 'another process took it over, nothing is written here any more';
  switch (freshness) {
    case 'fresh':
      return 'its state is up to date';
    case 'stale':
      if (stateOutages !== undefined && stateOutages.length > 0)
        return 'its state is out of reach in part, writers to the mirrored topics concerned are told to try again';
      return 'its state is not up to date, writers to mirrored topics are told to try again';
    case 'loading':
      return 'its state was not read yet, clients wait';
    default:
      return `its state is ${freshness ?? 'not known'}`;
  }
}
