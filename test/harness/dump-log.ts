import { existsSync } from 'node:fs';
import { runKafkaTool } from './java.ts';
import type { KafkaVersion } from './kafka-home.ts';

/** Lines of stock DumpLogSegments for segment files; with `records` also each record, payloads printed. */
export async function dumpLogSegments(
  version: KafkaVersion,
  files: string | readonly string[],
  { records = false } = {},
): Promise<string[]> {
  const list = typeof files === 'string' ? [files] : files;
  for (const file of list) if (!existsSync(file)) throw new Error(`no such segment file: ${file}`);
  const main = version.startsWith('3.')
    ? 'kafka.tools.DumpLogSegments'
    : 'org.apache.kafka.tools.DumpLogSegments';
  return runKafkaTool(version, main, ['--files', list.join(','), ...(records ? ['--print-data-log'] : [])]);
}
