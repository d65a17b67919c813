import { ErrorCode } from '../../../protocol/errors.ts';
import { StateWriteRefused } from './retry.ts';
import type {
  CommandHandler,
  CommandOutcome,
  CommandRecord,
  ResultRecord,
  StateChange,
  StateView,
  Stored,
} from './types.ts';
import { textOf } from '../../net/error-text.ts';

/**
 * Takes the commands of state partition 0 one at a time, in the order of the log.
 *
 *     seen ── past its deadline and not begun ──▶ result EXPIRED
 *      │
 *      └── begunAt written ──▶ handler ──▶ changes, then result and the command's tombstone in one transaction
 *
 * After a crash a command without a result is seen again; begun ones are finished whatever the deadline, so handlers
 * are repeatable.
 */
export interface CommandLoopOptions {
  readonly view: StateView;
  readonly handler: CommandHandler;
  /** Commits and reads back. */
  readonly begin: (command: CommandRecord) => Promise<void>;
  readonly finish: (changes: readonly StateChange[], result: ResultRecord) => Promise<void>;
  /** A command whose result is there already (it was appended twice). */
  readonly discard: (id: string) => Promise<void>;
  readonly now: () => number;
  readonly stopped: () => boolean;
}

export class CommandLoop {
  readonly #options: CommandLoopOptions;
  #running = false;
  #again = false;
  #idle: Promise<void> = Promise.resolve();

  constructor(options: CommandLoopOptions) {
    this.#options = options;
  }

  /** Call when commands may have come. */
  wake(): void {
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    this.#idle = this.#run().finally(() => {
      this.#running = false;
    });
  }

  /** Resolves when the command in hand is done. */
  idle(): Promise<void> {
    return this.#idle;
  }

  async #run(): Promise<void> {
    const { view, stopped } = this.#options;
    while (this.#again) {
      this.#again = false;
      for (let command = next(view); command !== undefined && !stopped(); command = next(view)) {
        try {
          await this.#take(command);
        } catch {
          // fenced or closed: the next owner takes it
          return;
        }
      }
    }
  }

  async #take(command: Stored<CommandRecord>): Promise<void> {
    const { view, handler, begin, finish, discard, now } = this.#options;
    if (view.results.has(command.id)) return discard(command.id);
    if (command.begunAt === 0 && now() > command.deadline) {
      const late = Math.round((now() - command.deadline) / 1000);
      const message = `EXPIRED: not begun within its deadline (${late} s ago), nothing was changed`;
      return finish([], failure(command.id, ErrorCode.REQUEST_TIMED_OUT, message, now()));
    }
    const begun = command.begunAt === 0 ? { ...command, begunAt: now() } : command;
    if (command.begunAt === 0) await begin(begun);
    const outcome = await decide(handler, begun);
    try {
      await finish(outcome.changes, toResult(command.id, outcome, now()));
    } catch (error) {
      if (!(error instanceof StateWriteRefused)) throw error;
      await finish([], failure(command.id, ErrorCode.UNKNOWN_SERVER_ERROR, error.message, now()));
    }
  }
}

function next(view: StateView): Stored<CommandRecord> | undefined {
  return view.commands.values().next().value;
}

async function decide(handler: CommandHandler, command: Stored<CommandRecord>): Promise<CommandOutcome> {
  try {
    return await handler(command);
  } catch (error) {
    const errorMessage = textOf(error);
    return { changes: [], ok: false, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, errorMessage };
  }
}

function toResult(id: string, outcome: CommandOutcome, finishedAt: number): ResultRecord {
  const { ok, errorCode, errorMessage = '', topics = [], report } = outcome;
  return {
    kind: 'result',
    id,
    ok,
    errorCode: errorCode ?? (ok ? ErrorCode.NONE : ErrorCode.UNKNOWN_SERVER_ERROR),
    errorMessage,
    topics,
    report: report === undefined ? '' : JSON.stringify(report),
    finishedAt,
  };
}

function failure(id: string, errorCode: number, errorMessage: string, finishedAt: number): ResultRecord {
  return toResult(id, { changes: [], ok: false, errorCode, errorMessage }, finishedAt);
}
