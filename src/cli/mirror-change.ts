import { askVerb, type ConnectionFlags, connectFromFlags, withGateway } from './gateway-client.ts';
import { failed, type Io, usage } from './io.ts';
import { formatOf, planText } from './output.ts';
import type { LossRow } from './rows.ts';
import { mirrorName, splitTopics } from './topic-list.ts';
import { finish } from './verb-outcome.ts';
import { waitForState } from './wait.ts';

/** The verbs of `isthmus mirror` that change something: create, start, stop, failover, delete. */
export interface ChangeFlags extends ConnectionFlags {
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

export async function create(name: string, flags: ChangeFlags, io: Io): Promise<void> {
  const mirror = mirrorName(name);
  formatOf(flags.output);
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

export async function change(
  verb: 'start' | 'stop' | 'failover' | 'delete',
  name: string,
  flags: ChangeFlags,
  io: Io,
): Promise<void> {
  const mirror = mirrorName(name);
  // what can't be printed is not done first
  formatOf(flags.output);
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

function secondsOf(text: string | undefined): number {
  const seconds = Number(text ?? '300');
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw usage(`--timeout is a number of seconds above 0, not ${text}`);
  return seconds * 1_000;
}
