#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import type { ChainEnd } from './cli/check-mirror.ts';
import type { Io } from './cli/io.ts';
import { type ProgramParts, runProgram } from './cli/program.ts';
import { textOf } from './net/error-text.ts';

/** The command `isthmus`: what the commands may not import is loaded here, and only when it is needed. */
const parts: ProgramParts = {
  async startRun(config, options, io) {
    const [{ createLog, logChannels }, { startIsthmus }] = await Promise.all([
      import('./observe/log.ts'),
      import('./app.ts'),
    ]);
    const style = io.errIsTerminal && !options.json ? 'text' : 'json';
    const color = io.env['NO_COLOR'] === undefined;
    const endLog = logChannels(
      createLog({ level: options.logLevel, style, color, sink: (line) => io.err(line) }),
    );
    const running = await startIsthmus(config, {});
    return {
      ...running,
      async close() {
        await running.close();
        endLog();
      },
    };
  },
  async decodeState(key, value) {
    const { decodeRecord } = await import('./control/state/codec.ts');
    if (key === null) return null;
    const text = key.toString('utf8');
    try {
      return { key: text, value: value === null ? null : plain(decodeRecord(text, value)) };
    } catch (error) {
      return { key: text, value: { unreadable: textOf(error) } };
    }
  },
  stateReaders: {
    async findLoops({ topics, source, destination, others, silent, stateTopic }) {
      const [{ findLoops }, { readForeignState }] = await Promise.all([
        import('./control/lineage.ts'),
        import('./control/foreign-state.ts'),
      ]);
      const inChain = ({ cluster, clusterId }: ChainEnd) => ({
        name: cluster.name,
        clusterId,
        mirroredTopics: () => readForeignState(cluster, stateTopic),
      });
      const ends = { name: destination.cluster.name, clusterId: destination.clusterId };
      return findLoops(topics, inChain(source), ends, async (clusterId) => {
        const found = others.find((other) => other.clusterId === clusterId);
        if (found !== undefined) return inChain(found);
        const unasked = silent.length === 0 ? '' : ` that answered (not reached: ${silent.join(', ')})`;
        return { unknown: `no cluster of the configuration${unasked} has that id` };
      });
    },
    async mirroredTopics(cluster, stateTopic) {
      const { readForeignState } = await import('./control/foreign-state.ts');
      return readForeignState(cluster, stateTopic);
    },
  },
};

/** As JSON knows it: 64-bit ids become texts. */
function plain(value: object): object {
  const text = JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? one.toString() : one,
  );
  return JSON.parse(text) as object;
}

/** A clean stop waits for appends in progress, but not for ever. */
const LONGEST_STOP_MS = 30_000;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // a second signal means that the first did not help
    if (interruption.signal.aborted) process.exit(130);
    interruption.abort();
    setTimeout(() => {
      process.stderr.write(`not stopped within ${LONGEST_STOP_MS} ms, ending without the rest\n`);
      process.exit(1);
    }, LONGEST_STOP_MS).unref();
  });
}
// a reader that went away (`isthmus dump | head`) is no fault
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const io: Io = {
  out: (text) => {
    process.stdout.write(text);
  },
  drained() {
    if (!process.stdout.writableNeedDrain) return undefined;
    return new Promise((resolve) => {
      process.stdout.once('drain', resolve);
    });
  },
  err: (text) => {
    process.stderr.write(text);
  },
  env: process.env,
  outIsTerminal: process.stdout.isTTY === true,
  outColumns: () => process.stdout.columns,
  errIsTerminal: process.stderr.isTTY === true,
  interrupted: interruption.signal,
  async ask(question) {
    if (process.stdin.isTTY !== true) return null;
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await lines.question(question, { signal: interruption.signal });
    } catch {
      return null;
    } finally {
      lines.close();
    }
  },
};

process.exitCode = await runProgram(process.argv.slice(2), io, parts);
// sockets and timers of a command that failed in the middle must not hold the process
setTimeout(() => process.exit(), 2_000).unref();
