/** Plain tables: a header, columns as wide as their widest cell, two blanks between. */
export interface Column<T> {
  readonly title: string;
  readonly of: (row: T) => string;
  readonly right?: boolean;
  /** Longer cells lose their beginning: the end of a name tells more. */
  readonly max?: number;
}

export function renderTable<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const cells = rows.map((row) => columns.map((column) => cut(oneLine(column.of(row)), column.max)));
  const widths = columns.map((column, at) =>
    Math.max(column.title.length, ...cells.map((row) => (row[at] ?? '').length)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, at) =>
        columns[at]?.right === true ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return `${[columns.map(({ title }) => title), ...cells].map(line).join('\n')}\n`;
}

function cut(text: string, max = Number.POSITIVE_INFINITY): string {
  return text.length <= max ? text : `...${text.slice(text.length - max + 3)}`;
}

// a line end or an escape sequence in an error text would break the table or the terminal
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ');
}

/** Broken between words where it is longer than the terminal is wide; what follows is set in. */
export function fold(text: string, columns?: number): string {
  const width = widthOf(columns);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= width || line === '') {
      line = longer;
      continue;
    }
    lines.push(line);
    line = `  ${word}`;
  }
  return [...lines, line].join('\n');
}

/** Drawn from the top of an empty terminal; a line that is longer than it is wide ends with `...`, not folded. */
export function screen(text: string, columns?: number): string {
  const width = widthOf(columns);
  const lines = text.split('\n');
  const fit = lines.map((line) => (line.length <= width ? line : `${line.slice(0, width - 3)}...`));
  return `\u001b[H\u001b[2J${fit.join('\n')}`;
}

// a terminal that was never given a size says 0
function widthOf(columns: number | undefined): number {
  return columns === undefined || columns === 0 ? Number.POSITIVE_INFINITY : columns;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** `1 broker`, `3 brokers`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

export function bytes(count: number): string {
  if (count < 1_000) return `${Math.round(count)} B`;
  if (count < 1_000_000) return `${(count / 1_000).toFixed(1)} kB`;
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)} MB`;
  return `${(count / 1_000_000_000).toFixed(2)} GB`;
}
