#!/usr/bin/env node
// Makes a fresh clone ready, with Node's own modules only, on Node 18 or newer. Costs nothing when all is there.
//   node scripts/setup.mjs              packages, JDK, Kafka jars, foreign clients for the tests
//   node scripts/setup.mjs --node-only  packages alone (what `npm run check` needs)
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installSystem } from './setup/debian.mjs';
import { javaLacks, javaReady, recordJava } from './setup/java.mjs';
import { fetchKafka, kafkaLacks, kafkaReady } from './setup/kafka.mjs';
import { withLock } from './setup/lock.mjs';
import { installPackages, packagesReady } from './setup/node.mjs';
import { installPythonClients, pythonLacks, pythonReady } from './setup/python.mjs';
import { say, SetupError } from './setup/run.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const versions = JSON.parse(readFileSync(join(root, 'scripts', 'versions.json'), 'utf8'));

// In this order: each step may use what an earlier one made.
const nodeSteps = [[packagesReady, installPackages]];
const allSteps = [
  ...nodeSteps,
  [everythingReady, installMissing],
  [javaReady, recordJava],
  [kafkaReady, fetchKafka],
  [pythonReady, installPythonClients],
];

function everythingReady(...where) {
  return javaReady(...where) && kafkaReady(...where) && pythonReady(...where);
}

/** All system packages in one go, so that a person without root is told all of it at once. */
async function installMissing() {
  await installSystem([
    ...(await javaLacks(versions)),
    ...kafkaLacks(root, versions),
    ...(await pythonLacks(root, versions)),
  ]);
}

async function setUp(steps) {
  if (steps.every(([ready]) => ready(root, versions))) return;
  await withLock(join(root, '.kafka', 'setup.lock'), async () => {
    for (const [ready, make] of steps) if (!ready(root, versions)) await make(root, versions);
  });
  say('ready');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));

setUp(process.argv.includes('--node-only') ? nodeSteps : allSteps).catch((error) => {
  process.stderr.write(
    `set-up failed: ${error instanceof SetupError ? error.message : (error.stack ?? error)}\n`,
  );
  process.exitCode = 1;
});
