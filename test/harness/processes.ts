import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

let reaper: ChildProcess | undefined;

/** One line to the helper that cleans up when this process is gone; see reaper.sh for its words. */
function tellReaper(line: string): void {
  if (reaper === undefined) {
    const script = fileURLToPath(new URL('reaper.sh', import.meta.url));
    // Detached: Ctrl-C in a terminal must reach us and not the helper, which has its work still before it.
    reaper = spawn('sh', [script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    reaper.stdin?.on('error', () => {});
    reaper.unref();
    (reaper.stdin as unknown as { unref(): void }).unref();
  }
  reaper.stdin?.write(`${line}\n`);
}

export function removeAtEnd(dir: string): void {
  if (process.env.ISTHMUS_KEEP_TMP === undefined) tellReaper(`d ${dir}`);
}

/** From now on nothing started by this process is ended, and no folder removed, when it ends. */
export function letAllLive(): void {
  tellReaper('q');
}

/** As `spawn`, and whatever becomes of this process, the child does not outlive it. */
export function spawnTracked(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options);
  const { pid } = child;
  if (pid !== undefined) {
    tellReaper(`+ ${pid}`);
    child.once('exit', () => tellReaper(`- ${pid}`));
  }
  return child;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Settles when the child has ended; rejects when it could not be started. May be asked before and after the end. */
export function ended(child: ChildProcess): Promise<Ended> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

export const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null;

/** SIGTERM, and SIGKILL when the child is not gone `graceMs` later. */
export async function endGently(child: ChildProcess, graceMs = 30_000): Promise<Ended> {
  if (hasEnded(child)) return ended(child);
  child.ref();
  const end = ended(child);
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  try {
    return await end;
  } finally {
    clearTimeout(timer);
  }
}

export async function endAtOnce(child: ChildProcess): Promise<Ended> {
  if (hasEnded(child)) return ended(child);
  child.ref();
  const end = ended(child);
  child.kill('SIGKILL');
  return end;
}
