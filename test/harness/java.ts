import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { compiledHelpers, helperFolder } from './java-classes.ts';
import { helperHost, runInHost } from './java-host.ts';
import { briefJvm, classPath, javaCommand, type KafkaVersion } from './kafka-home.ts';
import { endAtOnce, type Ended, ended, spawnTracked } from './processes.ts';
import { type TempDir, tempDir } from './temp-dir.ts';
import { until } from './until.ts';

/** A helper of test/java that runs: its lines as they come, its standard input, its end. */
export interface JavaProcess {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly lines: readonly string[];
  /** All of standard error, the clients' warnings among it. */
  stderr(): string;
  /** Waits for a line that matches and gives it; rejects when the process ends first. */
  line(pattern: RegExp, timeoutMs?: number): Promise<string>;
  ended: Promise<Ended>;
  kill(): Promise<Ended>;
}

/** Client libraries warn on standard error; standard output is the helper's alone. */
const logging = [
  `-Dlog4j2.configurationFile=${join(helperFolder, 'log4j2.properties')}`,
  `-Dlog4j.configuration=file:${join(helperFolder, 'log4j.properties')}`,
];

/**
 * Starts `java -cp JARS test/java/FILE ARGS` with the client library of one Kafka release, or the same helper out of
 * the compiled ones where these are at hand.
 */
export function startJava(version: KafkaVersion, file: string, args: readonly string[]): JavaProcess {
  const classes = compiledHelpers(version);
  const jars = classPath(version);
  const program =
    classes === undefined
      ? ['-cp', jars, join(helperFolder, file)]
      : ['-cp', `${classes}:${jars}`, file.replace(/\.java$/, '')];
  return track([...briefJvm, ...logging, '-Xmx512m', ...program, ...args], file);
}

let temp: TempDir | undefined;

/** Codecs unpack native parts into a temporary folder, and a JVM that is killed removes none of them. */
function ownTemp(): string {
  temp ??= tempDir('java');
  return `-Djava.io.tmpdir=${temp.path}`;
}

function track(args: readonly string[], name: string): JavaProcess {
  const child = spawnTracked(javaCommand(), [ownTemp(), ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let errors = '';
  const stderr = () => errors;
  const exit = ended(child);
  const drained = Promise.all([
    splitLines(child.stdout as Readable, (line) => lines.push(line)),
    splitLines(child.stderr as Readable, (line) => {
      errors += `${line}\n`;
    }),
  ]);
  child.stdin?.on('error', () => {});
  const all = Promise.all([exit, drained]).then(([end]) => end);
  let over = false;
  const markOver = () => {
    over = true;
  };
  all.then(markOver, markOver);
  const line = async (pattern: RegExp, timeoutMs = 60_000): Promise<string> => {
    const found = await until(
      `${name} prints ${pattern}`,
      () => lines.find((one) => pattern.test(one)) ?? (over ? { over } : undefined),
      { timeoutMs },
    );
    if (typeof found === 'string') return found;
    throw new Error(`${name} ended before it printed ${pattern}\n${lines.join('\n')}\n${errors}`);
  };
  return {
    child,
    stdin: child.stdin as Writable,
    lines,
    stderr,
    line,
    ended: all,
    kill: () => endAtOnce(child),
  };
}

function splitLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  let rest = '';
  stream.setEncoding('utf8');
  return new Promise((resolve) => {
    stream.on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() as string;
      for (const part of parts) onLine(part);
    });
    stream.once('close', () => {
      if (rest !== '') onLine(rest);
      resolve();
    });
  });
}

/**
 * Runs a helper to its end and gives its standard output's lines; throws with its errors when it exits non-zero. Where
 * a host was started for the test run, inside that JVM; a transaction is left open only by a process that ends.
 */
export async function runJava(
  version: KafkaVersion,
  file: string,
  args: readonly string[],
): Promise<string[]> {
  const port = args.includes('--leave-open') || !runsInHost(file) ? undefined : helperHost(version);
  if (port === undefined) return finish(startJava(version, file, args), file);
  const { code, stdout, stderr } = await runInHost(port, [file.replace(/\.java$/, ''), ...args]);
  const lines = stdout === '' ? [] : stdout.trimEnd().split('\n');
  if (code === 0) return lines;
  throw failed(file, code, lines, stderr);
}

/** Runs a class with a `main` out of Kafka's own jars, such as `kafka.tools.DumpLogSegments`. */
export async function runKafkaTool(
  version: KafkaVersion,
  main: string,
  args: readonly string[],
): Promise<string[]> {
  return finish(
    track([...briefJvm, ...logging, '-Xmx512m', '-cp', classPath(version), main, ...args], main),
    main,
  );
}

async function finish(java: JavaProcess, name: string): Promise<string[]> {
  java.stdin.end();
  const { code, signal } = await java.ended;
  if (code === 0) return [...java.lines];
  throw failed(name, code ?? signal, java.lines, java.stderr());
}

/** The host calls `run`: a helper that has but a `main` may end the process that it is in. */
const runsInHost = (file: string): boolean =>
  readFileSync(join(helperFolder, file), 'utf8').includes('public static int run(String[] ');

function failed(name: string, code: number | string | null, lines: readonly string[], stderr: string): Error {
  return new Error(`${name} ended with ${code}\n${lines.slice(-20).join('\n')}\n${stderr}`);
}

/** Starts the JVM in which helpers of one release run side by side, until it is killed or this process ends. */
export async function startHelperHost(version: KafkaVersion): Promise<{ port: number; java: JavaProcess }> {
  const classes = compiledHelpers(version);
  if (classes === undefined) throw new Error(`the helpers are not compiled for Kafka ${version}`);
  const java = startJava(version, 'HelperHost.java', [classes]);
  const line = await java.line(/^PORT /);
  return { port: Number(line.slice(5)), java };
}
