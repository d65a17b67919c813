import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { run, runWithRetry, say, SetupError, which } from './run.mjs';

const folder = (root, version) => join(root, '.kafka', version);
const listFile = '.coordinates';

/** A version's folder appears in one rename, with the coordinates it was made from: being there means being whole. */
export function kafkaReady(root, versions) {
  return missing(root, versions).length === 0;
}

function missing(root, versions) {
  return Object.entries(versions.kafka).filter(([version, coordinates]) => {
    try {
      return readFileSync(join(folder(root, version), listFile), 'utf8') !== coordinates.join('\n');
    } catch {
      return true;
    }
  });
}

export function kafkaLacks(root, versions) {
  if (kafkaReady(root, versions) || which('mvn') !== undefined) return [];
  return [{ what: 'Maven', packages: ['maven'], brew: 'maven' }];
}

export async function fetchKafka(root, versions) {
  sweep(root);
  const { java } = JSON.parse(readFileSync(join(root, '.kafka', 'java.json'), 'utf8'));
  const env = { JAVA_HOME: process.env.JAVA_HOME || (await homeOf(java)) };
  for (const [version, coordinates] of missing(root, versions)) {
    say(`Kafka ${version} jars by Maven`);
    const count = await fetchOne(root, versions.mavenDependencyPlugin, version, coordinates, env);
    say(`Kafka ${version}: ${count} jars`);
  }
}

async function fetchOne(root, plugin, version, coordinates, env) {
  const work = mkdtempSync(join(root, '.kafka', '.part-'));
  const jars = join(work, 'jars');
  mkdirSync(jars);
  writeFileSync(join(work, 'pom.xml'), pom(coordinates));
  const goal = `org.apache.maven.plugins:maven-dependency-plugin:${plugin}:copy-dependencies`;
  await runWithRetry(
    'mvn',
    [
      '-B',
      '-q',
      '-C',
      '-f',
      join(work, 'pom.xml'),
      goal,
      `-DoutputDirectory=${jars}`,
      '-DincludeScope=runtime',
    ],
    { cwd: work, env },
  );
  const names = readdirSync(jars);
  for (const coordinate of coordinates) {
    const [, artifact, release] = coordinate.split(':');
    const needed = `${artifact}-${release}.jar`;
    if (!names.includes(needed)) throw new SetupError(`Maven ended well but ${needed} is not among the jars`);
  }
  writeFileSync(join(jars, listFile), coordinates.join('\n'));
  rmSync(folder(root, version), { recursive: true, force: true });
  renameSync(jars, folder(root, version));
  rmSync(work, { recursive: true, force: true });
  return names.length;
}

async function homeOf(java) {
  const { all } = await run(java, ['-XshowSettings:properties', '-version']);
  return /java\.home = (.*)/.exec(all)?.[1]?.trim() ?? '';
}

function pom(coordinates) {
  const dependencies = coordinates.map((coordinate) => {
    const [group, artifact, version] = coordinate.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>isthmus</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    ${dependencies.join('\n    ')}
  </dependencies>
</project>
`;
}

function sweep(root) {
  for (const name of readdirSync(join(root, '.kafka'))) {
    if (name.startsWith('.part-')) rmSync(join(root, '.kafka', name), { recursive: true, force: true });
  }
}
