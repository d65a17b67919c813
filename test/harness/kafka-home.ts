import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type KafkaVersion = '4.4.0' | '3.9.1';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

export const kafkaFolder = join(repository, '.kafka');

export function javaCommand(): string {
  const record = JSON.parse(readFileSync(join(kafkaFolder, 'java.json'), 'utf8')) as { java: string };
  return record.java;
}

export function pythonCommand(): string {
  return join(repository, '.venv', 'bin', 'python');
}

/** The jars of one Kafka release. The JVM spreads the star itself, which keeps command lines readable. */
export function classPath(version: KafkaVersion): string {
  const folder = join(kafkaFolder, version);
  if (!existsSync(folder)) throw new Error(`no Kafka ${version} in ${folder}: run "npm run setup" first`);
  return join(folder, '*');
}

/** Flags for JVMs that live for seconds: start quickly, take little memory, leave no files behind. */
export const briefJvm = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData', '-Xshare:auto'];
