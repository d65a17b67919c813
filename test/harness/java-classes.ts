import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { briefJvm, javaCommand, type KafkaVersion, kafkaFolder, repository } from './kafka-home.ts';
import { ended, spawnTracked } from './processes.ts';

export const helperFolder = join(repository, 'test', 'java');

let sourcesHash: string | undefined;

/**
 * Where the compiled helpers lie, if compileHelpers has run for these very sources. Running them takes half the time of
 * `java File.java`, which compiles anew each time; the helpers stay single source files that run either way.
 */
export function compiledHelpers(version: KafkaVersion): string | undefined {
  const folder = classFolder(version);
  return existsSync(folder) ? folder : undefined;
}

export async function compileHelpers(version: KafkaVersion): Promise<void> {
  const target = classFolder(version);
  if (existsSync(target)) return;
  const classes = join(kafkaFolder, 'classes');
  mkdirSync(classes, { recursive: true });
  const part = mkdtempSync(join(classes, '.part-'));
  const sources = sourceFiles().map((name) => join(helperFolder, name));
  const compiler = ['--module', 'jdk.compiler/com.sun.tools.javac.Main'];
  // Started through the launcher of `java`, the compiler takes no star in its class path.
  const folder = join(kafkaFolder, version);
  const jars = readdirSync(folder).filter((name) => name.endsWith('.jar'));
  const path = jars.map((name) => join(folder, name)).join(delimiter);
  const args = [...briefJvm, ...compiler, '-cp', path, '-d', part, ...sources];
  const child = spawnTracked(javaCommand(), args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const { code } = await ended(child);
  if (code !== 0) throw new Error(`the Java helpers do not compile against Kafka ${version}`);
  // Of two that compile at once, the first to rename wins and the other's work is dropped.
  if (existsSync(target)) rmSync(part, { recursive: true });
  else renameSync(part, target);
}

function classFolder(version: KafkaVersion): string {
  sourcesHash ??= hashSources();
  return join(kafkaFolder, 'classes', `${version}-${sourcesHash}`);
}

const sourceFiles = (): string[] =>
  readdirSync(helperFolder)
    .filter((name) => name.endsWith('.java'))
    .sort();

function hashSources(): string {
  const hash = createHash('sha256');
  for (const name of sourceFiles()) hash.update(name).update(readFileSync(join(helperFolder, name)));
  return hash.digest('hex').slice(0, 16);
}
