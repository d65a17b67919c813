import { dirname } from 'node:path';
import { Isthmus } from '../test/harness/isthmus.ts';
import { letAllLive } from '../test/harness/processes.ts';
import { tempDir } from '../test/harness/temp-dir.ts';
import { mirrorWhileKilled } from './acts/mirror.ts';
import { proveCopy } from './acts/prove.ts';
import { failOver } from './acts/failover.ts';
import { writeLocally } from './acts/local-writers.ts';
import { MIRROR, setStage, type Stage, TOPIC } from './stage.ts';
import { Story } from './story.ts';

/**
 * `npm run demo [-- --json FILE] [--keep]`: two real clusters, a mirror at the same offsets, a kill in the middle, a
 * failover without the source, local writers behind the barrier; every claim is checked by readers that are not ours.
 */
async function main(args: readonly string[]): Promise<number> {
  const keep = args.includes('--keep');
  const at = args.indexOf('--json');
  const jsonFile = at < 0 ? undefined : args[at + 1];
  const unknown = args.filter((one, i) => one !== '--keep' && one !== '--json' && !(at >= 0 && i === at + 1));
  if (unknown.length > 0 || (at >= 0 && jsonFile === undefined)) {
    process.stderr.write('usage: npm run demo -- [--json FILE] [--keep]\n');
    return 2;
  }
  const story = new Story();
  const scratch = tempDir('demo');
  let stage: Stage | undefined;
  let code = 1;
  try {
    story.chapter('Two clusters: east (Kafka 4.4.0, source) and west (Kafka 3.9.1, destination)');
    stage = await setStage();
    const copy = await mirrorWhileKilled(stage, story);
    const truth = await proveCopy(stage, story, copy, scratch.path);
    await failOver(stage, story, truth);
    await writeLocally(stage, story, { truth, copy, scratch: scratch.path });
    code = story.end(undefined, jsonFile);
  } catch (error) {
    if (stage !== undefined)
      process.stdout.write(`\n--- the end of Isthmus's log\n${stage.isthmus.excerpt(25)}\n`);
    if (error instanceof Error && error.name !== 'CheckFailed') process.stdout.write(`${error.stack}\n`);
    code = story.end(error, jsonFile);
  }
  if (keep && stage !== undefined) await stayUp(stage);
  else await stage?.destroy();
  scratch.remove();
  return code;
}

/** Both clusters and Isthmus go on, past the proxy, when this process has ended. */
async function stayUp(stage: Stage): Promise<void> {
  const { east, west, gateway } = stage;
  await stage.isthmus.stop();
  await stage.isthmus.destroy();
  await east.startAll();
  const isthmus = new Isthmus({ config: stage.directConfig });
  await isthmus.start();
  letAllLive();
  const brokers = [...east.brokers, ...west.cluster.brokers];
  const pids = [isthmus.pid, ...brokers.map(({ pid }) => pid)];
  const folders = [dirname(isthmus.configFile), ...brokers.map(({ logDir }) => dirname(dirname(logDir)))];
  process.stdout.write(`
Still running:
  east (Kafka 4.4.0) at ${east.bootstrap}, west (Kafka 3.9.1) at ${west.cluster.bootstrap}
  Isthmus, gateway of west at ${gateway}; its configuration ${isthmus.configFile}, its log ${isthmus.logFile}
Things to try:
  npm run -s isthmus -- mirror describe --bootstrap-server ${gateway}
  npm run -s isthmus -- mirror report ${MIRROR} --bootstrap-server ${gateway}
  npm run -s isthmus -- dump --bootstrap-server ${gateway} --topic ${TOPIC} --partition 0 | tail
  npm run -s isthmus -- dump --bootstrap-server ${gateway} --state
To end it all: kill ${pids.filter((pid) => pid !== undefined).join(' ')}; sleep 5; rm -r ${folders.join(' ')}
`);
}

process.exitCode = await main(process.argv.slice(2));
process.exit();
