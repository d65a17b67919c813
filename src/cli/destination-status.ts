/** What a process tells of one destination, besides its partitions (`status` of the private API). */
export interface DestinationStatus {
  readonly destination?: string;
  /** `fresh`, `stale` or `loading`. */
  readonly freshness?: string;
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

const KNOWN = new Set(['destination', 'freshness', 'incarnation', 'fenced', 'mirrors']);

/** One line for the destination, one for each drift; whatever a newer gateway tells besides as it is. */
export function destinationText(status: DestinationStatus & Readonly<Record<string, unknown>>): string {
  const lines: string[] = [];
  if (status.destination !== undefined) {
    lines.push(
      `destination ${status.destination}: ${stateText(status)}; run by process ${status.incarnation ?? '?'} since its state began`,
    );
  }
  for (const { mirror, drift } of status.mirrors ?? []) {
    for (const difference of drift ?? []) lines.push(`${mirror} differs from the file: ${difference}`);
  }
  for (const [key, value] of Object.entries(status)) {
    if (KNOWN.has(key) || value === null || value === '') continue;
    lines.push(`${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function stateText({ freshness, fenced }: DestinationStatus): string {
  if (fenced === true) return 'another process took it over, nothing is written here any more';
  switch (freshness) {
    case 'fresh':
      return 'its state is up to date';
    case 'stale':
      return 'its state is not up to date, writers to mirrored topics are told to try again';
    case 'loading':
      return 'its state was not read yet, clients wait';
    default:
      return `its state is ${freshness ?? 'not known'}`;
  }
}
