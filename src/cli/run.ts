import type { Command } from 'commander';
import type { Config } from '../config/types.ts';
import { loadConfig } from './config-file.ts';
import type { DestinationStatus } from './destination-status.ts';
import { failed, type Io, usage } from './io.ts';
import { LiveTable, type Look } from './live-table.ts';
import type { PartitionRow } from './rows.ts';

/** What `run` needs of the composition root, which it may not import. */
export interface Running {
  /** Resolves when every port is bound, every destination reached and its state read. */
  readonly ready: Promise<void>;
  /** Resolves with the reason when it can't go on by itself (another instance took over). */
  readonly ended?: Promise<string> | undefined;
  /** Partitions for the live table on a terminal. */
  rows?(): readonly PartitionRow[];
  /** Of each destination, its mirrors' own trouble. */
  status?(): { readonly destinations: readonly DestinationStatus[] };
  close(): Promise<void>;
}

export interface RunOptions {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** Lines for machines, also on a terminal. */
  readonly json: boolean;
}

export type StartRun = (config: Config, options: RunOptions, io: Io) => Promise<Running>;

export function addRun(program: Command, io: Io, start: StartRun): void {
  program
    .command('run')
    .description('run everything in the file: gateways, mirrors, admin HTTP')
    .requiredOption('-c, --config <file>', 'the YAML file')
    .option('--log-level <level>', 'debug, info, warn or error', 'info')
    .option('--json', 'log JSON lines on a terminal too', false)
    .option('--no-table', 'on a terminal, show log lines instead of a live table of the mirrors')
    .action(async (options: { config: string; logLevel: string; json: boolean; table: boolean }) => {
      const config = loadConfig(options.config, io);
      if (config.gateways.length + config.mirrors.length === 0 && config.admin === null)
        throw failed(`nothing to run: ${options.config} has no gateways, no mirrors and no admin`);
      const table = options.table && io.outIsTerminal && !options.json;
      let look: () => Look = () => ({ rows: [], mirrors: [] });
      const live = table ? new LiveTable(io, () => look()) : null;
      // a line on the screen would be wiped away, so the table keeps the last ones below itself
      const shown: Io = live === null ? io : { ...io, err: (text) => live.note(text) };
      const running = await start(config, { logLevel: levelOf(options.logLevel), json: options.json }, shown);
      look = () => ({
        rows: running.rows?.() ?? [],
        mirrors: running.status?.().destinations.flatMap(({ mirrors }) => mirrors ?? []) ?? [],
      });
      const interrupted = new Promise<null>((resolve) => {
        if (io.interrupted.aborted) resolve(null);
        io.interrupted.addEventListener('abort', () => resolve(null), { once: true });
      });
      try {
        const ended = (running.ended ?? new Promise<string>(() => undefined)).then((reason) => ({ reason }));
        // one destination may be taken over while another is still waited for
        const begun = await Promise.race([running.ready.then(() => 'ready' as const), interrupted, ended]);
        if (begun === 'ready') {
          io.out('ready\n');
          live?.start();
        }
        const end = begun === 'ready' ? await Promise.race([interrupted, ended]) : begun;
        if (end !== null) throw failed(end.reason);
      } finally {
        live?.stop();
        await running.close();
      }
    });
}

function levelOf(text: string): RunOptions['logLevel'] {
  if (text === 'debug' || text === 'info' || text === 'warn' || text === 'error') {
    return text;
  }
  throw usage(`--log-level is debug, info, warn or error, not ${text}`);
}
