import { readFileSync } from 'node:fs';

/** Ticks of utime and stime in /proc/PID/stat; 100 a second on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Processor time of a process, user and system, all its threads. Linux only. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold blanks: fields are counted from behind it, where field 3 is the first.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Largest resident size since the process began, in bytes. */
export function peakRssBytes(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  if (line === null) throw new Error(`/proc/${pid}/status has no VmHWM`);
  return Number(line[1]) * 1024;
}
