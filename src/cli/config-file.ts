import { load } from '../config/load.ts';
import { type Config, formatFault } from '../config/types.ts';
import { failed, type Io } from './io.ts';

/** Loads the YAML, prints its warnings, and ends the command with every fault when it is wrong. */
export function loadConfig(file: string, io: Io): Config {
  const result = load(file, io.env);
  for (const warning of result.warnings) io.err(`warning: ${formatFault(warning)}\n`);
  if (result.ok) return result.config;
  const count = result.faults.length;
  const lines = result.faults.map(formatFault).join('\n');
  throw failed(`${lines}\n${count} ${count === 1 ? 'fault' : 'faults'} in ${file}`);
}
