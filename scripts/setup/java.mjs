import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, say, SetupError, which } from './run.mjs';

const recordFile = (root) => join(root, '.kafka', 'java.json');

/** Java found earlier and still there. The record is what the test harness reads to know which `java` to start. */
export function javaReady(root, versions) {
  try {
    const record = JSON.parse(readFileSync(recordFile(root), 'utf8'));
    return record.version >= versions.java && realpathSync(record.java) === record.real && sameHome(record);
  } catch {
    return false;
  }
}

// A person who points JAVA_HOME elsewhere wants that one looked at.
function sameHome(record) {
  return record.home === (process.env.JAVA_HOME ?? '');
}

/** What must be installed before recordJava can succeed: nothing, or a JDK. */
export async function javaLacks(versions) {
  if ((await findJava(versions.java)) !== undefined) return [];
  const packages = [
    ['openjdk-17-jdk-headless', 'openjdk-21-jdk-headless', 'openjdk-25-jdk-headless', 'default-jdk-headless'],
  ];
  return [{ what: `a JDK, ${versions.java} or newer`, packages, brew: 'openjdk@17' }];
}

export async function recordJava(root, versions) {
  const found = await findJava(versions.java);
  if (found === undefined)
    throw new SetupError(`a JDK, ${versions.java} or newer, is still not found after its installation`);
  mkdirSync(dirname(recordFile(root)), { recursive: true });
  writeFileSync(
    recordFile(root),
    `${JSON.stringify({ ...found, home: process.env.JAVA_HOME ?? '' }, null, 2)}\n`,
  );
  say(`Java ${found.version}: ${found.java}`);
}

async function findJava(least) {
  for (const java of candidates()) {
    const version = await jdkVersion(java);
    if (version >= least) return { java, real: realpathSync(java), version };
  }
  return undefined;
}

function candidates() {
  const found = [];
  if (process.env.JAVA_HOME) found.push(join(process.env.JAVA_HOME, 'bin', 'java'));
  const onPath = which('java');
  if (onPath !== undefined) found.push(onPath);
  const folder = '/usr/lib/jvm';
  if (existsSync(folder))
    for (const name of readdirSync(folder)) found.push(join(folder, name, 'bin', 'java'));
  return found.filter((file) => existsSync(file));
}

/** Major version of a full JDK; 0 for a runtime alone, which cannot run a source file, and for what does not start. */
async function jdkVersion(java) {
  try {
    const { stdout } = await run(java, ['--list-modules']);
    const compiler = /^jdk\.compiler@(\d+)/m.exec(stdout);
    return compiler === null ? 0 : Number(compiler[1]);
  } catch {
    return 0;
  }
}
