import { Command, CommanderError } from 'commander';
import { SOFTWARE_VERSION } from '../net/software.ts';
import { addCheck } from './check.ts';
import type { StateReaders } from './check-mirror.ts';
import { addClusterMirrors } from './cluster-mirrors.ts';
import { addDump, type DecodeState } from './dump-command.ts';
import { CommandError, type Io } from './io.ts';
import { addMirror } from './mirror.ts';
import { addRun, type StartRun } from './run.ts';
import { addStatus } from './status.ts';
import { textOf } from '../net/error-text.ts';

/** What commands need from parts that `cli` may not import; bin.ts hands them in. */
export interface ProgramParts {
  readonly startRun: StartRun;
  readonly decodeState: DecodeState;
  readonly stateReaders: StateReaders;
}

/** The whole command line. @returns the exit code: 0 done, 1 refused or failed, 2 wrong use */
export async function runProgram(argv: readonly string[], io: Io, parts: ProgramParts): Promise<number> {
  const program = new Command('isthmus')
    .description(
      'Kafka gateway and mirror: read-only copies of topics on another stock cluster, at the same offsets',
    )
    .version(SOFTWARE_VERSION, '--version')
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) })
    .showHelpAfterError('(--help shows what can be said)')
    .exitOverride();
  addRun(program, io, parts.startRun);
  addCheck(program, io, parts.stateReaders);
  addMirror(program, io);
  addClusterMirrors(program, io);
  addDump(program, io, parts.decodeState);
  addStatus(program, io);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CommandError) {
      io.err(`${error.message}\n`);
      return error.exitCode;
    }
    io.err(`${textOf(error)}\n`);
    return 1;
  }
}
