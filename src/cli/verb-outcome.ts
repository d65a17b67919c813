import type { VerbAnswer } from './gateway-client.ts';
import { faultText } from './gateway-client.ts';
import { failed, type Io } from './io.ts';
import { formatOf, partitionTable, planText, reportTable, topicErrors, writeData } from './output.ts';
import type { LossRow, PartitionRow } from './rows.ts';

/** What came of a verb that changes something. */
export interface Outcome {
  readonly verb: string;
  readonly name: string;
  readonly flags: { readonly output: string; readonly dryRun?: boolean };
  readonly rows: readonly PartitionRow[] | null;
  readonly report: readonly LossRow[] | null;
}

/** Prints what came of a verb; ends the command with 1 when any of it was refused or failed. */
export function finish(answer: VerbAnswer, { verb, name, flags, rows, report }: Outcome, io: Io): void {
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
    else if (answer.error === undefined && rows === null)
      io.out(`${doneText(verb, name, answer)}\n${notesOf(answer)}`);
    else if (report !== null) io.out(`${reportTable(report)}${notesOf(answer)}`);
    else if (rows !== null) io.out(`${partitionTable(rows)}${notesOf(answer)}`);
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
  const topics = (answer.topics ?? []).flatMap(({ topic, error }) => (error === undefined ? [topic] : []));
  const which = topics.length === 0 ? '' : `: ${topics.join(', ')}`;
  switch (verb) {
    case 'create':
      return `mirror ${name} created${which === '' ? '' : `, and it begins to mirror${which}`}`;
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
