import { existsSync } from 'node:fs';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

const APT = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', '-y', '--no-install-recommends'];

/**
 * Installs what the machine lacks, as root on Debian; elsewhere throws SetupError with the very command that a person
 * has to run. A lack is `{ what, packages, brew }`; an entry of packages that is a list holds alternatives, of which
 * the first that this Debian knows is taken.
 */
export async function installSystem(lacks) {
  if (lacks.length === 0) return;
  const what = lacks.map((lack) => lack.what).join(', ');
  const packages = lacks.flatMap((lack) => lack.packages);
  const debian = existsSync('/etc/debian_version') && which('apt-get') !== undefined;
  if (!debian) {
    const brew = `brew install ${lacks.map((lack) => lack.brew).join(' ')}`;
    const how =
      process.platform === 'darwin'
        ? `Run this, then try again:\n  ${brew}`
        : "Install it with your system's package tool.";
    throw new SetupError(`This machine lacks: ${what}. ${how}`);
  }
  if (process.getuid?.() !== 0) {
    const names = packages.map((entry) => (Array.isArray(entry) ? entry[0] : entry));
    const command = `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names.join(' ')}`;
    throw new SetupError(`This machine lacks: ${what}. Run this, then try again:\n  ${command}`);
  }
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  say(`${what} missing: apt-get update`);
  await runWithRetry('apt-get', ['-o', 'Acquire::Retries=3', 'update'], { env });
  const names = [];
  for (const entry of packages) names.push(await known(entry));
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
