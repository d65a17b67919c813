import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installDebian } from './debian.mjs';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

const folder = (root, version) => join(root, '.kafka', version);

/** A version's folder appears in one rename, so being there means being whole. */
export function kafkaReady(root, versions) {
  return versions.kafka.every((version) => existsSync(folder(root, version)));
}

export async function fetchKafka(root, versions) {
  sweep(root);
  const missing = versions.kafka.filter((version) => !existsSync(folder(root, version)));
  if (missing.length === 0) return;
  if (which('mvn') === undefined) await installDebian('Maven', ['maven']);
  const { java } = JSON.parse(readFileSync(join(root, '.kafka', 'java.json'), 'utf8'));
  for (const version of missing) await fetchOne(root, versions, version, java);
}

async function fetchOne(root, versions, version, java) {
  say(`Kafka ${version} jars by Maven`);
  const work = mkdtempSync(join(root, '.kafka', '.part-'));
  const jars = join(work, 'jars');
  mkdirSync(jars);
  writeFileSync(join(work, 'pom.xml'), pom(versions, version));
  const goal = `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy-dependencies`;
  await runWithRetry(
    'mvn',
    ['-B', '-q', '-C', '-f', join(work, 'pom.xml'), goal, `-DoutputDirectory=${jars}`, '-DincludeScope=runtime'],
    { cwd: work, env: { JAVA_HOME: process.env.JAVA_HOME ?? (await homeOf(java)) } },
  );
  const names = readdirSync(jars).filter((name) => name.endsWith('.jar'));
  for (const needed of [`kafka_${versions.scala}-${version}.jar`, `kafka-clients-${version}.jar`]) {
    if (!names.includes(needed)) throw new SetupError(`Maven ended well but ${needed} is not among the jars`);
  }
  renameSync(jars, folder(root, version));
  rmSync(work, { recursive: true, force: true });
  say(`Kafka ${version}: ${names.length} jars`);
}

async function homeOf(java) {
  const { all } = await run(java, ['-XshowSettings:properties', '-version']);
  return /java\.home = (.*)/.exec(all)?.[1]?.trim() ?? '';
}

function pom(versions, version) {
  const dependency = (artifact) => `
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
    </dependency>`;
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>isthmus</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>${dependency(`kafka_${versions.scala}`)}${dependency('kafka-tools')}
  </dependencies>
</project>
`;
}

function sweep(root) {
  for (const name of readdirSync(join(root, '.kafka'))) {
    if (name.startsWith('.part-')) rmSync(join(root, '.kafka', name), { recursive: true, force: true });
  }
}
