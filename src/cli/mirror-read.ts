import { askVerb, type ConnectionFlags, faultText, type VerbAnswer, withGateway } from './gateway-client.ts';
import { failed, type Io } from './io.ts';
import { formatOf, partitionTable, reportTable, writeData } from './output.ts';
import { renderTable } from './table.ts';
import { mirrorName, splitTopics } from './topic-list.ts';

/** The verbs of `isthmus mirror` that only read: list, describe, report. */
export interface ReadFlags extends ConnectionFlags {
  readonly output: string;
  readonly topics?: string;
  readonly failed?: boolean;
}

export async function list(flags: ReadFlags, io: Io): Promise<void> {
  const format = formatOf(flags.output);
  const answer = await withGateway(flags, io, (connection) => askVerb(connection, { verb: 'list' }));
  orRefused('list', answer);
  const rows = answer.list ?? [];
  if (writeData(format, rows, io)) return;
  if (rows.length === 0) {
    io.out('no mirrors\n');
    return;
  }
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const count = (value: unknown): string => (Array.isArray(value) ? String(value.length) : '-');
  io.out(
    renderTable<Readonly<Record<string, unknown>>>(
      [
        { title: 'MIRROR', of: (row) => text(row['mirror']) },
        { title: 'SOURCE', of: (row) => text(row['source']) },
        { title: 'TOPICS', of: (row) => count(row['topics']), right: true },
        { title: 'ACTIVE', of: (row) => count(row['activeTopics']), right: true },
        { title: 'INCLUDE', of: (row) => chosenText(row['include'], row['exclude']), max: 60 },
        { title: 'SOURCE-CLUSTER-ID', of: (row) => text(row['sourceClusterId']) },
        { title: 'SOURCE-BOOTSTRAP-SERVER', of: (row) => text(row['sourceBootstrap']), max: 50 },
      ],
      rows,
    ),
  );
}

// as in: orders, payments without payments-test
function chosenText(include: unknown, exclude: unknown): string {
  const names = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : '');
  return names(exclude) === '' ? names(include) : `${names(include)} without ${names(exclude)}`;
}

export async function describe(name: string | undefined, flags: ReadFlags, io: Io): Promise<void> {
  const format = formatOf(flags.output);
  const mirror = name === undefined ? null : mirrorName(name);
  const topics = flags.topics === undefined ? null : splitTopics(flags.topics);
  const answer = await withGateway(flags, io, (connection) =>
    askVerb(connection, { verb: 'describe', mirror, topics }),
  );
  orRefused('describe', answer);
  const rows = (answer.describe ?? []).filter(({ state }) => flags.failed !== true || state === 'FAILED');
  if (writeData(format, rows, io)) return;
  io.out(rows.length === 0 && flags.failed === true ? 'no failed partitions\n' : partitionTable(rows));
}

export async function report(name: string, flags: ReadFlags, io: Io): Promise<void> {
  const format = formatOf(flags.output);
  const topics = flags.topics === undefined ? null : splitTopics(flags.topics);
  const mirror = mirrorName(name);
  const answer = await withGateway(flags, io, (connection) =>
    askVerb(connection, { verb: 'report', mirror, topics }),
  );
  orRefused('report', answer);
  if (!writeData(format, answer.report ?? [], io)) io.out(reportTable(answer.report ?? []));
}

function orRefused(verb: string, answer: VerbAnswer): void {
  if (!answer.ok)
    throw failed(
      `${verb} was refused: ${answer.error === undefined ? 'no reason was given' : faultText(answer.error)}`,
    );
}
