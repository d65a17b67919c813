import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './kafka-home.ts';
import { type Ended, endAtOnce, ended, endGently, hasEnded, spawnTracked } from './processes.ts';
import { type TempDir, tempDir } from './temp-dir.ts';
import { until } from './until.ts';

export interface IsthmusOptions {
  /** The YAML, as text; or a file that is there already. */
  config: string | { file: string };
  env?: Readonly<Record<string, string>>;
  nodeArgs?: readonly string[];
}

const bin = join(repository, 'src', 'bin.ts');

/** `isthmus run` as a process of its own, under the Node that runs this. Start it, kill it, start it again. */
export class Isthmus {
  readonly configFile: string;
  /** Standard output and standard error of all runs, in the order they came. */
  readonly logFile: string;
  readonly #options: IsthmusOptions;
  readonly #dir: TempDir;
  #child: ChildProcess | undefined;
  #runBegins = 0;

  constructor(options: IsthmusOptions) {
    this.#options = options;
    this.#dir = tempDir('run');
    this.logFile = join(this.#dir.path, 'isthmus.log');
    writeFileSync(this.logFile, '');
    if (typeof options.config === 'string') {
      this.configFile = join(this.#dir.path, 'isthmus.yaml');
      writeFileSync(this.configFile, options.config);
    } else {
      this.configFile = options.config.file;
    }
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  get running(): boolean {
    return this.#child !== undefined && !hasEnded(this.#child);
  }

  /** Starts without waiting for anything. */
  launch(): void {
    if (this.running) throw new Error('isthmus runs already');
    this.#runBegins = readFileSync(this.logFile).length;
    const log = openSync(this.logFile, 'a');
    try {
      const args = [...(this.#options.nodeArgs ?? []), bin, 'run', '-c', this.configFile];
      this.#child = spawnTracked(process.execPath, args, {
        cwd: repository,
        env: { ...process.env, ...this.#options.env },
        stdio: ['ignore', log, log],
      });
      this.#child.unref();
    } finally {
      closeSync(log);
    }
  }

  /** Starts and waits for the line `ready`; throws with the log's end when it ends first or takes longer. */
  async start(timeoutMs = 30_000): Promise<void> {
    this.launch();
    try {
      const seen = await until(
        'isthmus prints ready',
        () => (/^ready\b/m.test(this.log()) ? 'ready' : !this.running && 'ended'),
        { timeoutMs },
      );
      if (seen === 'ended') throw new Error('isthmus ended before it was ready');
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.excerpt()}`, { cause: error });
    }
  }

  /** kill -9. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await endAtOnce(this.#child);
  }

  /** SIGTERM, and how it ended. */
  async stop(graceMs = 15_000): Promise<Ended | undefined> {
    return this.#child === undefined ? undefined : endGently(this.#child, graceMs);
  }

  ended(): Promise<Ended> {
    if (this.#child === undefined) throw new Error('isthmus was never started');
    this.#child.ref();
    return ended(this.#child);
  }

  /** What the present (or last) run printed. */
  log(): string {
    return readFileSync(this.logFile).subarray(this.#runBegins).toString('utf8');
  }

  excerpt(lines = 40): string {
    return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Ends it and removes its files. */
  async destroy(): Promise<void> {
    await this.kill();
    this.#dir.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** One `isthmus` command run to its end, without a terminal. */
export async function runIsthmus(
  args: readonly string[],
  { env = {}, stdin = '' } = {},
): Promise<CommandResult> {
  const child = spawnTracked(process.execPath, [bin, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const result = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      result[name] += text;
    });
  }
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const { code } = await ended(child);
  await closed;
  return { code, ...result };
}
