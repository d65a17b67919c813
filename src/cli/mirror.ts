import type { Command } from 'commander';
import {
  askVerb,
  type ConnectionFlags,
  connectFromFlags,
  faultText,
  type VerbAnswer,
  withGateway,
} from './gateway-client.ts';
import { failed, type Io, usage } from './io.ts';
import { LATER_VERBS } from './later-verbs.ts';
import { describe, list, type ReadFlags, report } from './mirror-read.ts';
import { formatOf, partitionTable, planText, reportTable, topicErrors, writeData } from './output.ts';
import type { LossRow, PartitionRow } from './rows.ts';
import { mirrorName, splitTopics } from './topic-list.ts';
import { waitForState } from './wait.ts';

/** `isthmus mirror VERB [NAME]`: every verb is one request with key 32001 through the gateway's Kafka port. */
interface Flags extends ConnectionFlags {
  readonly topics?: string;
  readonly exclude?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly wait: boolean;
  readonly timeout: string;
  readonly output: string;
  readonly source?: string;
  readonly copier?: string;
  readonly replicationFactor?: string;
  readonly start?: boolean;
  readonly acceptDamage?: boolean;
}

/** What is gone for good: the read-only copy (`start` on a STOPPED topic needs a rebuild), or what failback needs. */
const IRREVERSIBLE: Readonly<Record<string, string>> = {
  stop: 'may lose what is not mirrored yet',
  failover: 'may lose what is not mirrored yet',
  delete: 'forgets what a failback needs, and the reports',
};

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
    .action((name: string, flags: Flags) => create(name, flags, io));
  onTopics(verb('start', 'begin to mirror topics', 'required'))
    .option('--exclude <list>', 'names and /patterns/ to leave out')
    .action((name: string, flags: Flags) => change('start', name, flags, io));
  confirmed(onTopics(verb('stop', 'end mirroring; the topics become writable', 'required'))).action(
    (name: string, flags: Flags) => change('stop', name, flags, io),
  );
  confirmed(onTopics(verb('failover', 'end mirroring now, without the source', 'required'))).action(
    (name: string, flags: Flags) => change('failover', name, flags, io),
  );
  changing(verb('delete', 'forget a mirror whose topics are all STOPPED', 'required'))
    .option('--yes', 'do not ask')
    .action((name: string, flags: Flags) => change('delete', name, flags, io));
  verb('list', 'mirrors of the destination', 'none').action((flags: ReadFlags) => list(flags, io));
  verb('describe', 'partitions with offsets, lag and state', 'optional')
    .option('--topics <list>', 'only these')
    .option('--failed', 'only partitions that FAILED')
    .action((name: string | undefined, flags: ReadFlags) => describe(name, flags, io));
  verb('report', 'what the last stop or failover lost, cut or could not check', 'required')
    .option('--topics <list>', 'only these')
    .action((name: string, flags: ReadFlags) => report(name, flags, io));
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

async function create(name: string, flags: Flags, io: Io): Promise<void> {
  const mirror = mirrorName(name);
  if (flags.source === undefined || flags.source.trim() === '')
    throw usage('create needs --source CLUSTER, a cluster of the configuration');
  if (flags.copier !== undefined && !['link', 'external'].includes(flags.copier))
    throw usage('--copier is link or external');
  const factor = flags.replicationFactor;
  if (factor !== undefined && !/^[1-9]\d{0,4}$/.test(factor))
    throw usage('--replication-factor is a whole number from 1 on');
  const options = {
    source: flags.source,
    include: flags.topics === undefined ? [] : splitTopics(flags.topics),
    exclude: flags.exclude === undefined ? [] : splitTopics(flags.exclude, '--exclude'),
    ...(flags.copier === undefined ? {} : { copier: flags.copier }),
    ...(factor === undefined ? {} : { config: { 'topics.replication.factor': factor } }),
    ...(flags.start === true ? { start: true } : {}),
  };
  await withGateway(flags, io, async (connection) => {
    const answer = await askVerb(connection, {
      verb: 'create',
      mirror,
      dryRun: flags.dryRun === true,
      options,
    });
    finish(answer, { verb: 'create', name, flags, rows: null, report: null }, io);
  });
}

async function change(
  verb: 'start' | 'stop' | 'failover' | 'delete',
  name: string,
  flags: Flags,
  io: Io,
): Promise<void> {
  const mirror = mirrorName(name);
  const timeoutMs = secondsOf(flags.timeout);
  const topics = flags.topics === undefined ? null : splitTopics(flags.topics);
  if (verb !== 'delete' && (topics === null) === (flags.all !== true)) {
    throw usage(`${verb} needs either --topics T,... or --all`);
  }
  const request = {
    verb,
    mirror,
    topics,
    all: flags.all === true,
    options: {
      ...(flags.exclude === undefined ? {} : { exclude: splitTopics(flags.exclude, '--exclude') }),
      ...(flags.acceptDamage === true ? { acceptDamage: true } : {}),
    },
  };
  const price = IRREVERSIBLE[verb];
  const needsYes = price !== undefined && flags.yes !== true && flags.dryRun !== true;
  if (needsYes && !(io.errIsTerminal && io.outIsTerminal)) {
    throw usage(`${verb} can't be undone and ${price}; add --yes, or --dry-run to see the plan`);
  }
  await withGateway(flags, io, async (connection) => {
    if (needsYes) {
      const plan = await askVerb(connection, { ...request, dryRun: true });
      if (!plan.ok) return finish(plan, { verb, name, flags, rows: null, report: null }, io);
      io.err(planText(plan));
      const reply = await io.ask(`${verb} ${mirror}: this can't be undone. Go on? [y/N] `);
      if (reply === null || !/^y(es)?$/i.test(reply.trim())) throw failed(`${verb} was not done`);
    }
    const answer = await askVerb(connection, { ...request, dryRun: flags.dryRun === true });
    const waits = flags.dryRun !== true && flags.wait && verb !== 'delete';
    const taken = (answer.topics ?? []).flatMap(({ topic, error }) => (error === undefined ? [topic] : []));
    // nothing was taken: no end state to wait for
    if (!waits || answer.error !== undefined || taken.length === 0) {
      return finish(answer, { verb, name, flags, rows: null, report: null }, io);
    }
    const state = verb === 'start' ? 'MIRRORING' : 'STOPPED';
    const rows = await waitForState(
      () => connectFromFlags(flags, io),
      { mirror, topics: taken, state, timeoutMs },
      io,
    );
    let losses: readonly LossRow[] | null = null;
    if (verb !== 'start') {
      const reported = await withGateway(flags, io, (again) =>
        askVerb(again, { verb: 'report', mirror, topics: taken }),
      );
      losses = reported.report ?? [];
    }
    return finish(answer, { verb, name, flags, rows, report: losses }, io);
  });
}

interface Outcome {
  readonly verb: string;
  readonly name: string;
  readonly flags: Flags;
  readonly rows: readonly PartitionRow[] | null;
  readonly report: readonly LossRow[] | null;
}

/** Prints what came of a verb; ends the command with 1 when any of it was refused or failed. */
function finish(answer: VerbAnswer, { verb, name, flags, rows, report }: Outcome, io: Io): void {
  const broken = (rows ?? []).filter(({ state }) => state === 'FAILED');
  const ok = answer.ok && broken.length === 0;
  const whole = {
    ...answer,
    ok,
    ...(rows === null ? {} : { describe: rows }),
    ...(report === null ? {} : { report }),
  };
  if (!writeData(formatOf(flags.output), whole, io)) {
    if (flags.dryRun === true) io.out(`dry run, nothing was changed\n${planText(answer)}`);
    else if (answer.ok && rows === null) io.out(`${doneText(verb, name, answer)}\n${notesOf(answer)}`);
    else if (report !== null) io.out(reportTable(report));
    else if (rows !== null) io.out(partitionTable(rows));
  }
  if (ok) return;
  const lines = [
    answer.error === undefined ? '' : `${verb} ${name} was refused: ${faultText(answer.error)}\n`,
    topicErrors(answer),
    ...broken.map(
      (row) => `${row.topic}-${row.partition} FAILED: ${row.errorMessage ?? 'no reason is known'}\n`,
    ),
  ];
  throw failed(lines.join('').trimEnd());
}

function doneText(verb: string, name: string, answer: VerbAnswer): string {
  const topics = (answer.topics ?? []).map(({ topic }) => topic);
  const which = topics.length === 0 ? '' : `: ${topics.join(', ')}`;
  switch (verb) {
    case 'create':
      return `mirror ${name} created${which}`;
    case 'delete':
      return `mirror ${name} deleted`;
    case 'start':
      return `start of mirror ${name} is under way${which}`;
    default:
      if (topics.length === 0) return `mirror ${name} has no topics: nothing to do`;
      return `${verb} of mirror ${name} is under way${which}`;
  }
}

function notesOf(answer: VerbAnswer): string {
  return (answer.plan?.notes ?? []).map((note) => `note: ${note}\n`).join('');
}

function secondsOf(text: string | undefined): number {
  const seconds = Number(text ?? '300');
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw usage(`--timeout is a number of seconds above 0, not ${text}`);
  return seconds * 1_000;
}
