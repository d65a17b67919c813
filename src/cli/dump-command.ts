import type { Command } from 'commander';
import { Cluster } from '../net/cluster.ts';
import { dumpFiles, type LineSink } from './dump.ts';
import { type DecodeState, dumpLive } from './dump-live.ts';
import { failed, type Io, usage } from './io.ts';

export type { DecodeState, StateEntry } from './dump-live.ts';

interface Flags {
  readonly bootstrapServer?: string;
  readonly topic?: string;
  readonly partition?: string;
  readonly from?: string;
  readonly to?: string;
  readonly state?: boolean;
  readonly sourceClusterId?: readonly string[];
  readonly output: string;
}

/** `isthmus dump`: batches and control records, of segment files or of live partitions. */
export function addDump(program: Command, io: Io, decodeState: DecodeState): void {
  program
    .command('dump')
    .description('batches and control records of segment files, or of live partitions')
    .argument('[files...]', 'segment files (.log)')
    .option('--bootstrap-server <host:port>', 'read live partitions from this cluster or gateway')
    .option('--topic <topic>', 'the topic to read')
    .option('--partition <number>', 'only this one')
    .option('--from <offset>', 'first offset')
    .option('--to <offset>', 'end, exclusive')
    .option('--state', 'decode the records of the state topic (default topic: __mirror_state)')
    .option(
      '--source-cluster-id <id>',
      'a cluster id that barriers may name; can be repeated',
      (id: string, all: readonly string[] | undefined) => [...(all ?? []), id],
    )
    .option('-o, --output <format>', 'text or json (one object a line)', 'text')
    .action((files: readonly string[], flags: Flags) => dump(files, flags, io, decodeState));
}

async function dump(files: readonly string[], flags: Flags, io: Io, decodeState: DecodeState): Promise<void> {
  const format = flags.output;
  if (format !== 'text' && format !== 'json') throw usage(`-o is text or json, not ${format}`);
  const out: LineSink = {
    write(line) {
      io.out(`${line}\n`);
      return io.drained();
    },
  };
  const live = flags.bootstrapServer ?? (files.length === 0 ? io.env['ISTHMUS_BOOTSTRAP_SERVER'] : undefined);
  if (files.length > 0) {
    if (live !== undefined) throw usage('either segment files or --bootstrap-server, not both');
    report(await dumpFiles(files, out, { format, sourceClusterIds: flags.sourceClusterId ?? [] }), io);
    return;
  }
  if (live === undefined) throw usage('name segment files, or --bootstrap-server HOST:PORT --topic TOPIC');
  const topic = flags.topic ?? (flags.state === true ? '__mirror_state' : undefined);
  if (topic === undefined) throw usage('--topic is missing');
  const from = numberOf(flags.from, '--from');
  const to = numberOf(flags.to, '--to');
  if (from !== null && to !== null && from >= to)
    throw usage(`--from ${from} is not below --to ${to}, which is exclusive`);
  const cluster = new Cluster({
    name: live,
    properties: { 'bootstrap.servers': live },
    clientId: 'isthmus-dump',
  });
  try {
    const result = await dumpLive(cluster, out, {
      topic,
      partition: numberOf(flags.partition, '--partition'),
      from,
      to,
      format,
      sourceClusterIds: flags.sourceClusterId ?? [],
      decodeState: flags.state === true ? decodeState : null,
    });
    report(result, io);
  } finally {
    await cluster.close();
  }
}

function report(result: { readonly batches: number; readonly faults: readonly string[] }, io: Io): void {
  if (result.batches + result.faults.length === 0) io.err('no batches\n');
  if (result.faults.length === 0) return;
  for (const fault of result.faults) io.err(`${fault}\n`);
  throw failed(`${result.faults.length} ${result.faults.length === 1 ? 'fault' : 'faults'} found`);
}

function numberOf(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value))
    throw usage(`${flag} is a whole number from 0 on, not ${text}`);
  return value;
}
