import type { BrokerConnection } from '../net/connection.ts';
import { askVerb } from './gateway-client.ts';
import { failed, type Io, sleep } from './io.ts';
import type { PartitionRow } from './rows.ts';
import { duration } from './table.ts';

export interface WaitFor {
  readonly mirror: string;
  /** Topics that the verb took; empty = all of the mirror. */
  readonly topics: readonly string[];
  readonly state: 'MIRRORING' | 'STOPPED';
  readonly timeoutMs: number;
}

const EVERY_MS = 300;
/** A FAILED that is retried gets so long to leave that state before it is the answer. */
const RETRIED_MS = 5_000;

/**
 * Polls `describe` until every partition is in the end state or FAILED, telling how far it is.
 * @returns the last rows
 */
export async function waitForState(
  connect: () => Promise<BrokerConnection>,
  want: WaitFor,
  io: Io,
): Promise<readonly PartitionRow[]> {
  const began = performance.now();
  let told = '';
  let trouble = '';
  let lost = 0;
  let overSince: number | null = null;
  let connection = await connect();
  try {
    for (;;) {
      const rows = await rowsOf(connection, want).catch((error: unknown) => {
        // a gateway that restarts is asked again; a refusal stays one
        if (connection.isOpen || lost >= 20) throw error;
        return null;
      });
      if (rows === null) {
        lost += 1;
        await sleep(500, io.interrupted);
        connection = await connect().catch(() => connection);
      } else {
        lost = 0;
        const done = rows.filter(({ state }) => state === want.state).length;
        const broken = rows.filter(({ state }) => state === 'FAILED').length;
        const text = progress(rows, want, done, broken);
        trouble = troubleOf(rows, want);
        if (text !== told) {
          io.err(io.errIsTerminal ? `\r\u001b[K${text}` : `${text}\n`);
          told = text;
        }
        const over = rows.length > 0 && done + broken === rows.length;
        overSince = over ? (overSince ?? performance.now()) : null;
        const retried = rows.some(({ state, retryAttempt }) => state === 'FAILED' && retryAttempt >= 0);
        const patience = retried ? RETRIED_MS : 0;
        if (overSince !== null && performance.now() - overSince >= patience) return rows;
      }
      if (io.interrupted.aborted)
        throw failed(`interrupted; the verb goes on, see: isthmus mirror describe ${want.mirror}`);
      if (performance.now() - began > want.timeoutMs) {
        throw failed(
          `not ${want.state} after ${duration(want.timeoutMs)} (${told})${trouble}; the verb goes on, ` +
            `see: isthmus mirror describe ${want.mirror}`,
        );
      }
      await sleep(EVERY_MS, io.interrupted);
    }
  } finally {
    if (io.errIsTerminal && told !== '') io.err('\n');
    connection.end();
  }
}

async function rowsOf(connection: BrokerConnection, want: WaitFor): Promise<readonly PartitionRow[]> {
  const answer = await askVerb(connection, { verb: 'describe', mirror: want.mirror });
  if (!answer.ok) throw failed(answer.error?.message ?? 'describe was refused');
  const rows = answer.describe ?? [];
  return want.topics.length === 0 ? rows : rows.filter(({ topic }) => want.topics.includes(topic));
}

/** What keeps the first of them from its end state. */
function troubleOf(rows: readonly PartitionRow[], want: WaitFor): string {
  const held = rows.find((row) => row.state !== want.state && (row.errorMessage ?? '') !== '');
  if (held === undefined) return '';
  return `; ${held.topic}-${held.partition} is ${held.state}: ${held.errorMessage}`;
}

function progress(rows: readonly PartitionRow[], want: WaitFor, done: number, broken: number): string {
  const others = Map.groupBy(
    rows.filter(({ state }) => state !== want.state && state !== 'FAILED'),
    ({ state }) => state,
  );
  const rest = [...others].map(([state, some]) => `${some.length} ${state}`);
  if (broken > 0) rest.push(`${broken} FAILED`);
  return `${done} of ${rows.length} partitions ${want.state}${rest.length === 0 ? '' : `, ${rest.join(', ')}`}`;
}
