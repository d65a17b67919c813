import type { PartitionRow } from './rows.ts';
import { bytes, duration, renderTable } from './table.ts';

/** One mirror in a line: partitions by state, lag, and from two looks the rate and the time to catch up. */
export interface Summary {
  readonly mirror: string;
  readonly partitions: number;
  /** `8 MIRRORING, 1 FAILED` */
  readonly states: string;
  readonly lag: number;
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
): Summary[] {
  const old = new Map(before?.map((row) => [keyOf(row), row]));
  const groups = Map.groupBy(rows, ({ mirror }) => mirror);
  return [...groups].map(([mirror, own]) => {
    const states = Map.groupBy(own, ({ state }) => state);
    const lag = own.reduce((sum, row) => sum + Math.max(0, row.lag), 0);
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
      held: own.reduce((sum, row) => sum + Math.max(0, row.held ?? 0), 0),
      recordsPerSecond: records,
      bytesPerSecond: size,
      catchUpMs: lag === 0 ? 0 : records === null || records <= 0 ? null : (lag / records) * 1_000,
      error:
        own.find(({ errorMessage }) => errorMessage !== null && errorMessage !== '')?.errorMessage ?? null,
    };
  });
}

export function summaryTable(lines: readonly Summary[]): string {
  if (lines.length === 0) return 'no mirrors\n';
  return renderTable<Summary>(
    [
      { title: 'MIRROR', of: (line) => line.mirror, max: 40 },
      { title: 'PARTITIONS', of: (line) => String(line.partitions), right: true },
      { title: 'STATES', of: (line) => line.states },
      { title: 'LAG', of: (line) => String(line.lag), right: true },
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
      { title: 'ERROR', of: (line) => line.error ?? '', max: 80 },
    ],
    lines,
  );
}

function rate(value: number | null): string {
  return value === null ? '-' : String(Math.round(value));
}

function keyOf(row: PartitionRow): string {
  return `${row.mirror}/${row.topic}/${row.partition}`;
}
