import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export class SetupError extends Error {}

const started = Date.now();

export function say(line) {
  const seconds = ((Date.now() - started) / 1000).toFixed(0).padStart(3);
  process.stdout.write(`set-up ${seconds}s  ${line}\n`);
}

/** The file that a shell would run for this name, links resolved, or undefined. No process is started. */
export function which(name, path = process.env.PATH ?? '') {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue;
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return realpathSync(file);
    } catch {
      // not here, look in the next folder
    }
  }
  return undefined;
}

const running = new Set();

// A set-up that is ended takes its npm or Maven with it: the next one must not meet them at the same files.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Runs a command to its end, without standard input, and gives back what it printed. A tick every ten seconds shows
 * that it lives. Throws SetupError with the last lines of its output when it fails.
 */
export function run(command, args, { cwd, env, quiet = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let stdout = '';
    let all = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      all += chunk;
    });
    child.stderr.on('data', (chunk) => {
      all += chunk;
    });
    const begun = Date.now();
    const tick = setInterval(() => {
      if (!quiet) say(`  ... ${command} still at work (${Math.round((Date.now() - begun) / 1000)} s)`);
    }, 10_000);
    const give = (error) => {
      clearInterval(tick);
      running.delete(child);
      if (error === undefined) resolve({ stdout, all });
      else reject(new SetupError(error));
    };
    child.on('error', (error) => give(`${command}: ${error.message}`));
    child.on('close', (code, signal) => {
      if (code === 0) return give(undefined);
      const tail = all.trim().split('\n').slice(-15).join('\n');
      give(`${[command, ...args].join(' ')} ended with ${code ?? signal}\n${tail}`);
    });
  });
}

/** Tries again after a failure: registries and mirrors answer with a passing error now and then. */
export async function runWithRetry(command, args, options) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(command, args, options);
    } catch (error) {
      if (attempt === 3) throw error;
      say(`  failed, trying again (${attempt + 1} of 3)`);
    }
  }
}
