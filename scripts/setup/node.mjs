import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

const readLock = (root) => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

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
 * `npm ci` of exactly the lock file. npm itself runs under a Node that the packages are made for: under an older one it
 * leaves out, without a word, each optional package whose `engines` exclude that one, native parts of the tools among
 * them. Where the Node at hand is older, the packaged Node is installed first, by the lock as well.
 */
export async function installPackages(root, versions) {
  const kept = join(root, '.kafka');
  mkdirSync(kept, { recursive: true });
  const work = mkdtempSync(join(kept, '.part-'));
  try {
    const node = atLeast(process.versions.node, versions.node)
      ? undefined
      : await packagedNode(root, versions, work);
    say(`npm ci (up to ${Object.keys(readLock(root).packages).length - 1} packages)`);
    await npmCi(root, node);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  linkNode(root);
  await checkNode(root, versions.node);
  writeFileSync(stampFile(root), wanted(root));
}

async function packagedNode(root, versions, work) {
  const name = `node-${process.platform}-${process.arch}`;
  const locked = readLock(root).packages[`node_modules/${name}`];
  if (locked === undefined) throw noNode(versions.node, process.versions.node);
  say(`Node ${locked.version} (this one is ${process.versions.node})`);
  const self = { name: 'node-for-npm', version: '1.0.0', dependencies: { [name]: locked.version } };
  const { optional: _, ...entry } = locked;
  const packages = { '': self, [`node_modules/${name}`]: entry };
  writeFileSync(join(work, 'package.json'), JSON.stringify(self));
  writeFileSync(join(work, 'package-lock.json'), JSON.stringify({ ...self, lockfileVersion: 3, packages }));
  await npmCi(work, undefined);
  return join(work, 'node_modules', name, 'bin', 'node');
}

async function npmCi(cwd, node) {
  // No package needs its install script: what is native lies ready-built inside the packages.
  const args = ['ci', '--ignore-scripts', '--loglevel=error'];
  const npm = which('npm');
  if (npm === undefined) throw new SetupError('npm is needed on PATH, it comes with Node');
  const env = { NODE_ENV: '', npm_config_engine_strict: 'false' };
  if (node === undefined) return runWithRetry('npm', args, { cwd, env });
  if (npm.endsWith('.js')) return runWithRetry(node, [npm, ...args], { cwd, env });
  const path = [join(node, '..'), process.env.PATH].join(delimiter);
  return runWithRetry('npm', args, { cwd, env: { ...env, PATH: path } });
}

/** npm 10 leaves the command `node` of the packaged Node unlinked, npm 11 links it. */
function linkNode(root) {
  const link = join(root, 'node_modules', '.bin', 'node');
  const name = `node-${process.platform}-${process.arch}`;
  if (existsSync(link) || !existsSync(join(root, 'node_modules', name, 'bin', 'node'))) return;
  symlinkSync(join('..', name, 'bin', 'node'), link);
}

/** Later steps run under the packaged Node where there is one, else under that of PATH. */
async function checkNode(root, least) {
  const local = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(local) ? local : which('node');
  const found = node === undefined ? 'none' : (await run(node, ['--version'])).stdout.trim().slice(1);
  if (!atLeast(found, least)) throw noNode(least, found);
}

function noNode(least, found) {
  return new SetupError(
    `Node >= ${least} is needed on PATH (found ${found}): no ready-made one for ${process.platform}-${process.arch} is among the packages. Install it from nodejs.org, then run this again.`,
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
