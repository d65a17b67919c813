import type { MirrorTrouble } from './destination-status.ts';
import type { Io } from './io.ts';
import type { PartitionRow } from './rows.ts';
import { errorText, summaries, summaryTable } from './summary.ts';
import { screen } from './table.ts';

const EVERY_MS = 1_000;
const KEPT_NOTES = 10;

export interface Look {
  readonly rows: readonly PartitionRow[];
  readonly mirrors: readonly MirrorTrouble[];
}

/** The mirrors on a terminal, drawn anew each second: states, lag, rate, time to catch up. */
export class LiveTable {
  readonly #io: Io;
  readonly #look: () => Look;
  #timer: NodeJS.Timeout | null = null;
  #since = '';
  #notes: readonly string[] = [];
  #last: { at: number; rows: readonly PartitionRow[] } | null = null;

  constructor(io: Io, look: () => Look) {
    this.#io = io;
    this.#look = look;
  }

  /** From now on ready, which the table goes on to say: it wipes the line that said so. */
  start(): void {
    this.#since = clock();
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
    const { rows, mirrors } = this.#look();
    const at = performance.now();
    const lines = summaries(rows, this.#last?.rows ?? null, at - (this.#last?.at ?? at), mirrors);
    const columns = this.#io.outColumns?.();
    const text = `${summaryTable(lines)}${errorText(lines, columns)}`;
    this.#last = { at, rows };
    const all = `${clock()}, ready since ${this.#since}, Ctrl-C ends it\n\n${text}\n${this.#notes.join('\n')}\n`;
    this.#io.out(screen(all, columns));
  }
}

function clock(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
