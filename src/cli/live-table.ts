import type { Io } from './io.ts';
import type { PartitionRow } from './rows.ts';
import { summaries, summaryTable } from './summary.ts';
import { screen } from './table.ts';

const EVERY_MS = 1_000;
const KEPT_NOTES = 10;

/** The mirrors on a terminal, drawn anew each second: states, lag, rate, time to catch up. */
export class LiveTable {
  readonly #io: Io;
  readonly #rows: () => readonly PartitionRow[];
  #timer: NodeJS.Timeout | null = null;
  #notes: readonly string[] = [];
  #last: { at: number; rows: readonly PartitionRow[] } | null = null;

  constructor(io: Io, rows: () => readonly PartitionRow[]) {
    this.#io = io;
    this.#rows = rows;
  }

  start(): void {
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** A log line: printed while there is no table, else kept among the last ones below it. */
  note(text: string): void {
    if (this.#timer === null) this.#io.err(text);
    this.#notes = [...this.#notes, text.trimEnd()].slice(-KEPT_NOTES);
  }

  #draw(): void {
    const now = { at: performance.now(), rows: this.#rows() };
    const text = summaryTable(
      summaries(now.rows, this.#last?.rows ?? null, now.at - (this.#last?.at ?? now.at)),
    );
    this.#last = now;
    const clock = `${new Date().toISOString().slice(0, 19)}Z`;
    const all = `${clock}\n\n${text}\n${this.#notes.join('\n')}\n`;
    this.#io.out(screen(all, this.#io.outColumns?.()));
  }
}
