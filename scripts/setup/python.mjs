import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, runWithRetry, say, which } from './run.mjs';

const wanted = (versions) => Object.entries(versions.python).map(([name, version]) => `${name}==${version}`);

/** The foreign clients of the tests live in a virtual environment of their own, `.venv/bin/python`. */
export function pythonReady(root, versions) {
  try {
    const stamp = readFileSync(join(root, '.venv', '.isthmus-setup'), 'utf8');
    return stamp === wanted(versions).join('\n') && existsSync(join(root, '.venv', 'bin', 'python'));
  } catch {
    return false;
  }
}

export async function pythonLacks(root, versions) {
  if (pythonReady(root, versions) || (await canMakeVenv())) return [];
  return [{ what: 'Python 3 with venv', packages: ['python3', 'python3-venv'], brew: 'python' }];
}

export async function installPythonClients(root, versions) {
  for (const name of readdirSync(root)) {
    if (name.startsWith('.venv-part-')) rmSync(join(root, name), { recursive: true, force: true });
  }
  const part = join(root, `.venv-part-${process.pid}`);
  say(`Python clients: ${wanted(versions).join(' ')}`);
  await run('python3', ['-m', 'venv', part]);
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--only-binary', ':all:', '--quiet'];
  await runWithRetry(join(part, 'bin', 'python'), [...pip, ...wanted(versions)]);
  writeFileSync(join(part, '.isthmus-setup'), wanted(versions).join('\n'));
  rmSync(join(root, '.venv'), { recursive: true, force: true });
  renameSync(part, join(root, '.venv'));
}

async function canMakeVenv() {
  if (which('python3') === undefined) return false;
  try {
    await run('python3', ['-c', 'import venv, ensurepip']);
    return true;
  } catch {
    return false;
  }
}
