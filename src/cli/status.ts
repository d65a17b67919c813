import type { Command } from 'commander';
import { type DestinationStatus, destinationText, type MirrorTrouble } from './destination-status.ts';
import { askVerb, type ConnectionFlags, connectFromFlags } from './gateway-client.ts';
import { failed, type Io, sleep } from './io.ts';
import { formatOf, writeData } from './output.ts';
import type { PartitionRow } from './rows.ts';
import { errorText, type Summary, summaries, summaryTable } from './summary.ts';
import { screen } from './table.ts';

interface Flags extends ConnectionFlags {
  readonly output: string;
  readonly watch?: boolean;
}

const BETWEEN_MS = 1_000;

/** `isthmus status`: one line a mirror with lag and rates; two looks a second apart make the rates. */
export function addStatus(program: Command, io: Io): void {
  program
    .command('status')
    .description('mirrors with lag and rates, through a gateway')
    .option('--bootstrap-server <host:port>', 'a gateway (or ISTHMUS_BOOTSTRAP_SERVER)')
    .option('--command-config <file>', 'client properties')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .option('--watch', 'again each second until Ctrl-C')
    .action((flags: Flags) => status(flags, io));
}

async function status(flags: Flags, io: Io): Promise<void> {
  const format = formatOf(flags.output);
  const connection = await connectFromFlags(flags, io);
  try {
    let before = await look(connection);
    do {
      await sleep(BETWEEN_MS, io.interrupted);
      const now = await look(connection);
      const lines = summaries(now.rows, before.rows, now.at - before.at, now.status.mirrors);
      const value = { ...now.status, mirrors: withDrift(lines, now.status.mirrors ?? []) };
      if (format !== 'table') {
        writeData(format, value, io);
      } else {
        const more = destinationText(now.status);
        const columns = io.outIsTerminal ? io.outColumns?.() : undefined;
        const text = `${summaryTable(lines)}${errorText(lines, columns)}${more === '' ? '' : `\n${more}`}`;
        io.out(flags.watch === true && io.outIsTerminal ? screen(text, columns) : text);
      }
      before = now;
    } while (flags.watch === true && !io.interrupted.aborted);
  } finally {
    connection.end();
  }
}

function withDrift(lines: readonly Summary[], mirrors: readonly MirrorTrouble[]): object[] {
  const drift = new Map(mirrors.map((one) => [one.mirror, one.drift ?? []]));
  return lines.map((line) => ({ ...line, drift: drift.get(line.mirror) ?? [] }));
}

interface Look {
  readonly at: number;
  readonly rows: readonly PartitionRow[];
  readonly status: DestinationStatus & Readonly<Record<string, unknown>>;
}

async function look(connection: Awaited<ReturnType<typeof connectFromFlags>>): Promise<Look> {
  const [described, whole] = await Promise.all([
    askVerb(connection, { verb: 'describe' }),
    askVerb(connection, { verb: 'status' }),
  ]);
  if (!described.ok) throw failed(`status was refused: ${described.error?.message ?? 'no reason was given'}`);
  return { at: performance.now(), rows: described.describe ?? [], status: whole.status ?? {} };
}
