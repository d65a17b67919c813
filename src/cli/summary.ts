import type { MirrorTrouble } from './destination-status.ts';
import type { PartitionRow } from './rows.ts';
import { bytes, duration, fold, oneLine, renderTable } from './table.ts';

/** One mirror in a line: partitions by state, lag, and from two looks the rate and the time to catch up. */
export interface Summary {
  readonly mirror: string;
  readonly partitions: number;
  /** `8 MIRRORING, 1 FAILED` */
  readonly states: string;
  /** Of the partitions whose lag is known, -1 when it is known of none. */
  readonly lag: number;
  /** Partitions that are not STOPPED and whose lag is not known. */
  readonly unknownLag: number;
  readonly held: number;
  /** null with one look only. */
  readonly recordsPerSecond: number | null;
  readonly bytesPerSecond: number | null;
  /** ms; null when it is not known or never. */
  readonly catchUpMs: number | null;
  readonly error: string | null;
}

export function summaries(
  rows: readonly PartitionRow[],
  before: readonly PartitionRow[] | null,
  elapsedMs: number,
  mirrors: readonly MirrorTrouble[] = [],
): Summary[] {
  const old = new Map(before?.map((row) => [keyOf(row), row]));
  const groups = new Map(Map.groupBy(rows, ({ mirror }) => mirror));
  // one that has no partitions yet, and maybe a reason why
  for (const { mirror } of mirrors) if (!groups.has(mirror)) groups.set(mirror, []);
  const inOrder = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return inOrder.map(([mirror, own]) => {
    const states = Map.groupBy(own, ({ state }) => state);
    const unknownLag = own.filter((row) => row.lag < 0 && row.state !== 'STOPPED').length;
    const isKnown = unknownLag === 0 || own.some((row) => row.lag >= 0);
    const lag = isKnown ? own.reduce((sum, row) => sum + Math.max(0, row.lag), 0) : -1;
    let records: number | null = null;
    let size: number | null = null;
    if (before !== null && elapsedMs > 0) {
      const gained = (pick: (row: PartitionRow) => number): number =>
        own.reduce((sum, row) => {
          const was = old.get(keyOf(row));
          return was === undefined ? sum : sum + Math.max(0, pick(row) - pick(was));
        }, 0) /
        (elapsedMs / 1_000);
      records = gained((row) => Math.max(0, row.destinationOffset));
      size = gained((row) => row.counts?.['dataBytes'] ?? 0);
    }
    return {
      mirror,
      partitions: own.length,
      states: [...states].map(([state, some]) => `${some.length} ${state}`).join(', '),
      lag,
      unknownLag,
      held: own.reduce((sum, row) => sum + Math.max(0, row.held ?? 0), 0),
      recordsPerSecond: records,
      bytesPerSecond: size,
      catchUpMs: lag < 0 || own.length === 0 ? null : catchUpOf(lag, records),
      error:
        own.find(({ errorMessage }) => errorMessage !== null && errorMessage !== '')?.errorMessage ??
        mirrors.find((one) => one.mirror === mirror)?.error ??
        null,
    };
  });
}

export function summaryTable(lines: readonly Summary[]): string {
  if (lines.length === 0) return 'no mirrors\n';
  return renderTable<Summary>(
    [
      { title: 'MIRROR', of: (line) => line.mirror },
      { title: 'PARTITIONS', of: (line) => String(line.partitions), right: true },
      { title: 'STATES', of: (line) => line.states },
      { title: 'LAG', of: lagText, right: true },
      { title: 'HELD', of: (line) => String(line.held), right: true },
      { title: 'RECORDS/S', of: (line) => rate(line.recordsPerSecond), right: true },
      {
        title: 'RATE',
        of: (line) => (line.bytesPerSecond === null ? '-' : `${bytes(line.bytesPerSecond)}/s`),
        right: true,
      },
      {
        title: 'CATCH-UP',
        of: (line) => (line.catchUpMs === null ? '-' : duration(line.catchUpMs)),
        right: true,
      },
    ],
    lines,
  );
}

/** What stands against the mirrors, a line each and not a column: on a narrow terminal the last column is cut off. */
export function errorText(lines: readonly Summary[], columns?: number): string {
  return lines
    .filter(({ error }) => error !== null)
    .map(({ mirror, error }) => `${fold(`${mirror}: ${oneLine(error ?? '')}`, columns)}\n`)
    .join('');
}

/** `12+`: of some partitions it is not known. */
function lagText({ lag, unknownLag }: Summary): string {
  if (lag < 0) return '-';
  return unknownLag > 0 ? `${lag}+` : String(lag);
}

function catchUpOf(lag: number, recordsPerSecond: number | null): number | null {
  if (lag === 0) return 0;
  return recordsPerSecond === null || recordsPerSecond <= 0 ? null : (lag / recordsPerSecond) * 1_000;
}

function rate(value: number | null): string {
  return value === null ? '-' : String(Math.round(value));
}

function keyOf(row: PartitionRow): string {
  return `${row.mirror}/${row.topic}/${row.partition}`;
}
