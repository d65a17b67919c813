import { stringify } from 'yaml';
import type { VerbAnswer } from './gateway-client.ts';
import { faultText } from './gateway-client.ts';
import { type Io, usage } from './io.ts';
import { known, type LossRow, type PartitionRow } from './rows.ts';
import { duration, renderTable } from './table.ts';

export type OutputFormat = 'table' | 'json' | 'yaml';

export function formatOf(text: string): OutputFormat {
  if (text === 'table' || text === 'json' || text === 'yaml') return text;
  throw usage(`-o is table, json or yaml, not ${text}`);
}

/** Writes a value for machines. @returns false when a table is wanted instead */
export function writeData(format: OutputFormat, value: unknown, io: Io): boolean {
  if (format === 'table') return false;
  io.out(format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : stringify(value));
  return true;
}

export function partitionTable(rows: readonly PartitionRow[]): string {
  if (rows.length === 0) return 'no mirror partitions\n';
  return renderTable<PartitionRow>(
    [
      { title: 'MIRROR', of: (row) => row.mirror },
      { title: 'TOPIC', of: (row) => row.topic },
      { title: 'PARTITION', of: (row) => String(row.partition), right: true },
      { title: 'SOURCE-OFFSET', of: (row) => known(row.sourceOffset), right: true },
      { title: 'DESTINATION-OFFSET', of: (row) => known(row.destinationOffset), right: true },
      { title: 'LAG', of: (row) => known(row.lag), right: true },
      { title: 'HELD', of: (row) => known(row.held), right: true },
      { title: 'STATE', of: (row) => row.state },
      { title: 'RETRY', of: (row) => retry(row.retryAttempt), right: true },
      { title: 'ERROR', of: (row) => row.errorMessage ?? '' },
    ],
    rows,
  );
}

function retry(attempt: number): string {
  return attempt < 0 ? 'never' : attempt === 0 ? '' : String(attempt);
}

export function reportTable(rows: readonly LossRow[]): string {
  if (rows.length === 0) return 'no report yet\n';
  const text = renderTable<LossRow>(
    [
      { title: 'TOPIC', of: (row) => row.topic },
      { title: 'PARTITION', of: (row) => String(row.partition), right: true },
      { title: 'STATE', of: (row) => row.state },
      { title: 'LAST-MIRRORED', of: (row) => known(row.lastMirroredOffset), right: true },
      { title: 'BARRIER', of: (row) => known(row.barrierOffset), right: true },
      { title: 'SOURCE-END', of: (row) => known(row.sourceEnd), right: true },
      {
        title: 'SEEN',
        of: (row) => (row.sourceEndAgeMs === null ? 'never' : `${duration(row.sourceEndAgeMs)} before`),
      },
      {
        title: 'LOST',
        of: (row) => (row.difference === null ? 'unknown' : String(row.difference)),
        right: true,
      },
      { title: 'CUT-TRANSACTIONS', of: (row) => row.cutTransactions.join(' ') },
      { title: 'UNVERIFIED', of: (row) => row.unverified.map(range).join(' ') },
      { title: 'DAMAGE', of: (row) => row.damage.map(range).join(' ') },
    ],
    rows,
  );
  const reasons = new Set(
    rows.flatMap((row) =>
      [...row.unverified, ...row.damage].map(
        ({ from, to, why }) => `${row.topic}-${row.partition} ${from}..${to - 1}: ${why}`,
      ),
    ),
  );
  return reasons.size === 0 ? text : `${text}\n${[...reasons].join('\n')}\n`;
}

function range({ from, to }: { from: number; to: number }): string {
  return `${from}..${to - 1}`;
}

/** Plan of a verb, as sentences: `do` first, then what it is done to. */
export function planText(answer: VerbAnswer): string {
  const { steps = [], notes = [] } = answer.plan ?? {};
  const lines = steps.map((step) => {
    const { do: what, ...rest } = step;
    const details = Object.entries(rest).map(([key, value]) => `${wordsOf(key)} ${planValue(key, value)}`);
    return `  ${typeof what === 'string' ? what : 'step'}${details.length === 0 ? '' : `: ${details.join(', ')}`}`;
  });
  if (lines.length + notes.length === 0 && answer.ok) return '  nothing to do\n';
  return [...lines, ...notes.map((note) => `  note: ${note}`)].map((line) => `${line}\n`).join('');
}

const PLAN_WORDS: Readonly<Record<string, string>> = {
  lastMirroredOffset: 'last mirrored',
  sourceEndAgeMs: 'source end seen',
  difference: 'would be lost',
  openTransactions: 'cut transactions',
};

/** `sourceEnd` is `source end` for people. */
function wordsOf(key: string): string {
  return PLAN_WORDS[key] ?? key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function planValue(key: string, value: unknown): string {
  if (key === 'lastMirroredOffset' && value === -1) return 'nothing';
  if (value === null || value === -1) return 'unknown';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(' ');
  if (key.endsWith('AgeMs')) return `${Math.round(Number(value) / 1000)} s ago`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Most messages begin with the name. */
function aboutTopic(topic: string, message: string): string {
  return message.startsWith(`${topic} `) ? message : `${topic}: ${message}`;
}

/** Errors of topics, one line each; not the one that is told as the whole verb's already. */
export function topicErrors(answer: VerbAnswer): string {
  const whole = answer.error?.message;
  return (answer.topics ?? [])
    .flatMap(({ topic, error }) =>
      error === undefined || error.message === whole ? [] : [`${aboutTopic(topic, faultText(error))}\n`],
    )
    .join('');
}
