import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { errorName } from '../../protocol/errors.ts';
import { createClusterMirrorApi } from '../../protocol/schema/94-create-cluster-mirror.ts';
import { startMirrorTopicsApi } from '../../protocol/schema/95-start-mirror-topics.ts';
import { stopMirrorTopicsApi } from '../../protocol/schema/96-stop-mirror-topics.ts';
import { listClusterMirrorsApi } from '../../protocol/schema/98-list-cluster-mirrors.ts';
import { describeClusterMirrorsApi } from '../../protocol/schema/99-describe-cluster-mirrors.ts';
import { deleteClusterMirrorApi } from '../../protocol/schema/104-delete-cluster-mirror.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { describeTable, failedTable, listTable } from './cluster-mirrors-tables.ts';
import { type ConnectionFlags, connectFromFlags, needGateway } from './gateway-client.ts';
import { failed, type Io, usage } from './io.ts';
import { LATER_VERBS } from './later-verbs.ts';
import type { PartitionRow } from './rows.ts';

/** `isthmus cluster-mirrors`: flags and tables of KIP-1279's tool, over its own RPCs. */
interface Flags extends ConnectionFlags {
  readonly mirror?: string;
  readonly mirrorConfig?: string;
  readonly topics?: string;
  readonly exclude?: string;
  readonly json?: boolean;
  readonly failed?: boolean;
  readonly [action: string]: unknown;
}

const ACTIONS = [
  'create',
  'start',
  'stop',
  'pause',
  'resume',
  'recover',
  'delete',
  'list',
  'describe',
] as const;
type Action = (typeof ACTIONS)[number];
const NO_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

export function addClusterMirrors(program: Command, io: Io): void {
  const command = program
    .command('cluster-mirrors')
    .description('the flags and tables of kafka-cluster-mirrors.sh (KIP-1279)')
    .option('--bootstrap-server <host:port>', 'a gateway of the destination')
    .option('--command-config <file>', 'client properties')
    .option('--mirror <name>', 'name of the mirror')
    .option('--mirror-config <file>', 'properties of the source, with --create')
    .option('--topics <list>', 'names and expressions, separated by commas')
    .option('--exclude <list>', 'with --start')
    .option('--json', 'with --describe')
    .option('--failed', 'with --describe: only partitions that FAILED');
  for (const action of ACTIONS) command.option(`--${action}`);
  command.action((flags: Flags) => run(flags, io));
}

async function run(flags: Flags, io: Io): Promise<void> {
  const chosen = ACTIONS.filter((action) => flags[action] === true);
  const action = chosen[0];
  if (action === undefined || chosen.length > 1) {
    throw usage(`exactly one of ${ACTIONS.map((one) => `--${one}`).join(', ')} is needed`);
  }
  const later = LATER_VERBS[action];
  if (later !== undefined) throw failed(later);
  const name = flags.mirror ?? '';
  if (name === '' && action !== 'list' && action !== 'describe')
    throw usage(`--${action} needs --mirror NAME`);
  if (action === 'create' && flags.mirrorConfig === undefined)
    throw usage('--create needs --mirror-config FILE');
  if ((action === 'start' || action === 'stop') && flags.topics === undefined)
    throw usage(`--${action} needs --topics`);
  const connection = await connectFromFlags(flags, io);
  try {
    // key 94 means something else to a broker of 4.4
    needGateway(connection);
    await act(action, name, flags, connection, io);
  } finally {
    connection.end();
  }
}

async function act(
  action: Action,
  name: string,
  flags: Flags,
  connection: BrokerConnection,
  io: Io,
): Promise<void> {
  const topics = csv(flags.topics);
  switch (action) {
    case 'create':
      check(
        await connection.call(createClusterMirrorApi, {
          mirrorName: name,
          config: properties(flags.mirrorConfig ?? ''),
        }),
      );
      io.out(`Created mirror ${name}\n`);
      return;
    case 'start': {
      const answer = await connection.call(startMirrorTopicsApi, {
        mirrorName: name,
        topics: topics
          .filter(isLiteral)
          .map((topicName) => ({ topicId: NO_TOPIC_ID, topicName, numPartitions: -1 })),
        includePatterns: topics.filter((entry) => !isLiteral(entry)),
        excludePatterns: csv(flags.exclude),
      });
      const begun = begunOf(answer);
      if (begun.length > 0 || answer.errorCode === 0)
        io.out(
          begun.length === 0
            ? `No matching topics yet; the patterns are kept in mirror ${name}\n`
            : `Started ${begun.length} mirror topic(s) in mirror ${name}: [${begun.join(', ')}]\n`,
        );
      checkTopics(answer);
      return;
    }
    case 'stop': {
      const answer = await connection.call(stopMirrorTopicsApi, {
        mirrorName: name,
        topics: topics.filter(isLiteral).map((topicName) => ({ topicName })),
        patterns: topics.filter((entry) => !isLiteral(entry)),
      });
      const stopped = begunOf(answer);
      if (stopped.length > 0 || answer.errorCode === 0)
        io.out(`Stopped mirroring for topics [${stopped.join(', ')}] in mirror ${name}\n`);
      checkTopics(answer);
      return;
    }
    case 'delete':
      check(await connection.call(deleteClusterMirrorApi, { mirrorName: name }));
      io.out(`Deleted mirror ${name}\n`);
      return;
    case 'list':
      return list(connection, io);
    default:
      return describe(name, flags, connection, io);
  }
}

async function list(connection: BrokerConnection, io: Io): Promise<void> {
  const answer = await connection.call(listClusterMirrorsApi, { includeTopicNames: false });
  check(answer);
  if (answer.mirrors.length === 0) {
    io.out('No mirrors found\n');
    return;
  }
  io.out(listTable(answer.mirrors.toSorted((a, b) => compare(a.mirrorName, b.mirrorName))));
}

async function describe(name: string, flags: Flags, connection: BrokerConnection, io: Io): Promise<void> {
  const answer = await connection.call(describeClusterMirrorsApi, { mirrorNames: name === '' ? [] : [name] });
  check(answer);
  for (const mirror of answer.mirrors) {
    if (mirror.errorCode !== 0) throw failed(`mirror ${mirror.mirrorName}: ${errorName(mirror.errorCode)}`);
  }
  const rows: PartitionRow[] = answer.mirrors
    .flatMap((mirror) =>
      mirror.topics.flatMap((topic) =>
        topic.partitions.map((partition) => ({
          mirror: mirror.mirrorName,
          topic: topic.topicName,
          partition: partition.partitionIndex,
          sourceOffset: partition.sourceOffset,
          destinationOffset: partition.destinationOffset,
          lag: partition.lag,
          state: partition.stateValue,
          retryAttempt: partition.retryAttempt,
          errorMessage: partition.errorMessage,
        })),
      ),
    )
    .filter(({ state }) => flags.failed !== true || state === 'FAILED')
    .sort((a, b) => compare(a.mirror, b.mirror) || compare(a.topic, b.topic) || a.partition - b.partition);
  if (flags.json === true) io.out(`${JSON.stringify(rows)}\n`);
  else if (rows.length === 0)
    io.out(flags.failed === true ? 'No failed partitions found\n' : 'No mirror partitions found\n');
  else if (flags.failed === true) io.out(failedTable(rows));
  else io.out(describeTable(rows));
}

function check(answer: { readonly errorCode: number; readonly errorMessage: string | null }): void {
  if (answer.errorCode === 0) return;
  throw failed(
    `${errorName(answer.errorCode)}${answer.errorMessage === null ? '' : `: ${answer.errorMessage}`}`,
  );
}

interface TopicsAnswer {
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly topics: readonly {
    readonly name: string;
    readonly errorCode: number;
    readonly errorMessage: string | null;
  }[];
}

function begunOf(answer: TopicsAnswer): string[] {
  return answer.topics.filter(({ errorCode }) => errorCode === 0).map((topic) => topic.name);
}

/** The first topic's error is told as the whole's: here each topic has its own line. */
function checkTopics(answer: TopicsAnswer): void {
  const refused = answer.topics.filter(({ errorCode }) => errorCode !== 0);
  if (refused.length === 0) return check(answer);
  const line = (topic: (typeof refused)[number]): string =>
    `${topic.name}: ${errorName(topic.errorCode)}${topic.errorMessage === null ? '' : `: ${topic.errorMessage}`}`;
  throw failed(refused.map(line).join('\n'));
}

function csv(text: string | undefined): string[] {
  return (text ?? '').split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]));
}

function isLiteral(entry: string): boolean {
  return /^[a-zA-Z0-9._-]+$/.test(entry);
}

function properties(file: string): { name: string; value: string }[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(
      `--mirror-config ${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
  return text.split(/\r?\n/).flatMap((raw) => {
    const match = /^\s*([^#!=:\s][^=:\s]*)\s*[=:]\s*(.*?)\s*$/.exec(raw);
    return match === null ? [] : [{ name: match[1] ?? '', value: match[2] ?? '' }];
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
