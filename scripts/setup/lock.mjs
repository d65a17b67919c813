import {
  mkdirSync,
  openSync,
  closeSync,
  writeSync,
  readFileSync,
  statSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { say } from './run.mjs';

const BEAT_MS = 1_000;
const STALE_MS = 20_000;

/**
 * Holds a lock file while `work` runs, so that two set-ups in one clone take turns. The holder touches the file each
 * second; one left untouched for 20 s, or whose process is gone, belonged to a set-up that was cut and is taken over.
 */
export async function withLock(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  while (!take(file)) {
    if (dropIfAbandoned(file)) continue;
    if (!told) say('another set-up is at work here, waiting for it');
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const beat = setInterval(() => touch(file), BEAT_MS);
  const release = () => rmSync(file, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    process.removeListener('exit', release);
    release();
  }
}

function take(file) {
  try {
    const handle = openSync(file, 'wx');
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function dropIfAbandoned(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    const age = Date.now() - statSync(file).mtimeMs;
    // A holder writes its pid right after making the file: an empty file is abandoned only once it is old.
    const gone = pid > 0 && age > 2 * BEAT_MS && !alive(pid);
    if (!gone && age < STALE_MS) return false;
    rmSync(file, { force: true });
    return true;
  } catch (error) {
    if (error.code === 'ENOENT') return true;
    throw error;
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function touch(file) {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {
    // taken over after a long stop of this process: the work itself is safe to be done twice
  }
}
