import { join } from 'node:path';
import { pythonCommand, repository } from './kafka-home.ts';
import { ended, spawnTracked } from './processes.ts';

/** Runs a script of test/python to its end and gives its standard output's lines. @throws Error with what it printed */
export async function runPython(file: string, args: readonly string[]): Promise<string[]> {
  const child = spawnTracked(pythonCommand(), [join(repository, 'test', 'python', file), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const { code, signal } = await ended(child);
  await closed;
  if (code !== 0) throw new Error(`${file} ended with ${code ?? signal}\n${output.stdout}${output.stderr}`);
  return output.stdout.trimEnd().split('\n');
}
