import { existsSync } from 'node:fs';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

let updated = false;

const APT = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', '-y', '--no-install-recommends'];

/**
 * Installs Debian packages as root; elsewhere throws SetupError with the very command that a person has to run.
 * Each entry is a package or a list of alternatives, the first that this Debian knows being taken.
 */
export async function installDebian(what, entries) {
  const first = entries.map((entry) => (Array.isArray(entry) ? entry[0] : entry));
  if (!existsSync('/etc/debian_version') || which('apt-get') === undefined) {
    const brew = { darwin: '\n  on macOS: brew install openjdk@17 maven python' }[process.platform] ?? '';
    throw new SetupError(`${what} is needed: install it with your system's package tool${brew}`);
  }
  const root = process.getuid?.() === 0;
  if (!root) {
    const command = `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${first.join(' ')}`;
    throw new SetupError(`${what} is needed. Run this, then try again:\n  ${command}`);
  }
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  if (!updated) {
    say('apt-get update');
    await runWithRetry('apt-get', ['-o', 'Acquire::Retries=3', 'update'], { env });
    updated = true;
  }
  const names = [];
  for (const entry of entries) names.push(await known(entry));
  say(`apt-get install ${names.join(' ')}`);
  await runWithRetry('apt-get', ['install', ...APT, ...names], { env });
}

async function known(entry) {
  if (!Array.isArray(entry)) return entry;
  for (const name of entry) {
    const { stdout } = await run('apt-cache', ['policy', name]);
    if (/Candidate: (?!\(none\))/.test(stdout)) return name;
  }
  return entry[0];
}
