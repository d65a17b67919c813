import type { Command } from 'commander';
import { jsonSchema } from '../config/schema.ts';
import { checkConnected } from './check-connect.ts';
import type { StateReaders } from './check-mirror.ts';
import { loadConfig } from './config-file.ts';
import { failed, type Io, usage } from './io.ts';
import { count } from './table.ts';

/** `isthmus check`: the file alone, or with the clusters behind it. Changes nothing. */
export function addCheck(program: Command, io: Io, readers: StateReaders): void {
  program
    .command('check')
    .description('check the file, and with --connect the clusters behind it')
    .option('-c, --config <file>', 'the YAML file')
    .option('--connect', 'reach the clusters: versions, rights, loops, and a plan for each mirror')
    .option('--schema', 'print the JSON Schema of the file and end')
    .action(async (flags: { config?: string; connect?: boolean; schema?: boolean }) => {
      if (flags.schema === true) {
        io.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
        return;
      }
      if (flags.config === undefined) throw usage('-c FILE is missing');
      const config = loadConfig(flags.config, io);
      const counts = [
        count(config.clusters.size, 'cluster'),
        count(config.gateways.length, 'gateway'),
        count(config.mirrors.length, 'mirror'),
      ];
      io.out(`${flags.config}: ok (${counts.join(', ')})\n`);
      if (flags.connect !== true) return;
      const faults = await checkConnected(config, readers, io);
      if (faults > 0) throw failed(`${count(faults, 'fault')} found`);
      io.out('all clusters: ok\n');
    });
}
