import type { Command } from 'commander';
import { failed, type Io } from './io.ts';
import { LATER_VERBS } from './later-verbs.ts';
import { change, type ChangeFlags, create } from './mirror-change.ts';
import { describe, list, type ReadFlags, report } from './mirror-read.ts';

/** `isthmus mirror VERB [NAME]`: every verb is one request with key 32001 through the gateway's Kafka port. */
export function addMirror(program: Command, io: Io): void {
  const mirror = program
    .command('mirror')
    .description('create, start, watch and stop mirrors, through a gateway');
  const verb = (name: string, about: string, named: 'required' | 'optional' | 'none'): Command => {
    const command = mirror.command(name).description(about);
    if (named === 'required') command.argument('<name>', 'name of the mirror');
    if (named === 'optional') command.argument('[name]', 'name of the mirror; all when left out');
    return command
      .option('--bootstrap-server <host:port>', 'a gateway (or ISTHMUS_BOOTSTRAP_SERVER)')
      .option('--command-config <file>', 'client properties')
      .option('-o, --output <format>', 'table, json or yaml', 'table');
  };
  const changing = (command: Command): Command =>
    command.option('--dry-run', 'show the plan and change nothing');
  const onTopics = (command: Command): Command =>
    changing(command)
      .option('--topics <list>', 'names and /patterns/, separated by commas')
      .option('--all', 'all topics of the mirror')
      .option('--no-wait', 'do not wait for the end state')
      .option('--timeout <seconds>', 'longest wait for the end state', '300');
  const confirmed = (command: Command): Command =>
    command
      .option('--yes', 'do not ask')
      .option('--accept-damage', 'take the real end and report the damaged range');

  changing(verb('create', 'name a source; nothing is copied yet', 'required'))
    .option('--source <cluster>', 'a cluster of the configuration')
    .option('--topics <list>', 'names and /patterns/ that belong to it')
    .option('--exclude <list>', 'names and /patterns/ to leave out')
    .option('--copier <kind>', 'link or external')
    .option('--replication-factor <n>', 'of topics that are created')
    .option('--start', 'start its topics at once')
    .action((name: string, flags: ChangeFlags) => create(name, flags, io));
  onTopics(verb('start', 'begin to mirror topics', 'required'))
    .option('--exclude <list>', 'names and /patterns/ to leave out')
    .action((name: string, flags: ChangeFlags) => change('start', name, flags, io));
  confirmed(onTopics(verb('stop', 'end mirroring; the topics become writable', 'required'))).action(
    (name: string, flags: ChangeFlags) => change('stop', name, flags, io),
  );
  confirmed(onTopics(verb('failover', 'end mirroring now, without the source', 'required'))).action(
    (name: string, flags: ChangeFlags) => change('failover', name, flags, io),
  );
  changing(verb('delete', 'forget a mirror whose topics are all STOPPED', 'required'))
    .option('--yes', 'do not ask')
    .action((name: string, flags: ChangeFlags) => change('delete', name, flags, io));
  verb('list', 'mirrors of the destination', 'none').action((flags: ReadFlags) => list(flags, io));
  verb('describe', 'partitions with offsets, lag and state', 'optional')
    .option('--topics <list>', 'only these')
    .option('--failed', 'only partitions that FAILED')
    .action((name: string | undefined, flags: ReadFlags) => describe(name, flags, io));
  verb('report', 'what the last stop or failover lost, cut or could not check', 'required')
    .option('--topics <list>', 'only these')
    .action((name: string, flags: ReadFlags) => report(name, flags, io));
  mirror.addHelpText('after', `\nLater: ${Object.keys(LATER_VERBS).join(', ')}`);
  for (const [name, message] of Object.entries(LATER_VERBS)) {
    mirror
      .command(name, { hidden: true })
      .argument('[args...]')
      .allowUnknownOption()
      .action(() => {
        throw failed(message);
      });
  }
}
