import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

function wanted(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  return `${hash.digest('hex')} ${process.platform}-${process.arch}`;
}

const stampFile = (root) => join(root, 'node_modules', '.isthmus-setup');

export function packagesReady(root) {
  try {
    return readFileSync(stampFile(root), 'utf8') === wanted(root);
  } catch {
    return false;
  }
}

/**
 * `npm ci` of exactly the lock file, then a look at the Node that later steps will run under. npm may itself run under
 * an older Node here: the lock decides the versions, so that changes nothing but its warnings.
 */
export async function installPackages(root, versions) {
  const count =
    Object.keys(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages).length - 1;
  say(`npm ci (up to ${count} packages)`);
  // No package needs its install script: what is native lies ready-built inside the packages.
  await runWithRetry('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: root,
    env: { NODE_ENV: '', npm_config_engine_strict: 'false' },
  });
  await checkNode(root, versions.node);
  writeFileSync(stampFile(root), wanted(root));
}

async function checkNode(root, least) {
  const local = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(local) ? local : which('node');
  const found = node === undefined ? 'none' : (await run(node, ['--version'])).stdout.trim().slice(1);
  if (atLeast(found, least)) return;
  throw new SetupError(
    `Node >= ${least} is needed on PATH (found ${found}); there is no ready-made one for ${process.platform}-${process.arch} among the packages. Install it from nodejs.org, then run this again.`,
  );
}

function atLeast(found, least) {
  const have = found.split('.').map(Number);
  const need = least.split('.').map(Number);
  for (let i = 0; i < need.length; i++) {
    if (!(have[i] >= need[i])) return false;
    if (have[i] > need[i]) return true;
  }
  return true;
}
