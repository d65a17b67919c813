import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Isthmus } from '../../harness/isthmus.ts';
import { runJava } from '../../harness/java.ts';
import { type KafkaCluster, startCluster } from '../../harness/kafka-cluster.ts';
import type { KafkaVersion } from '../../harness/kafka-home.ts';
import { type ProxiedCluster, startProxiedCluster } from '../../harness/proxied-cluster.ts';
import { until } from '../../harness/until.ts';
import {
  type BatchResult,
  compareAll,
  compareRecords,
  compareSoFar,
  endsOf,
  logDirs,
  type TwoLogs,
} from '../equal-logs.ts';
import { KillCounts, quotasOf } from '../kill-counts.ts';
import { type Kill, killOf, planKills } from '../kill-plan.ts';
import { Killer } from '../killer.ts';
import { Load } from '../load.ts';

export const about = 'kill -9 again and again while mixed transactions are mirrored; the logs must end equal';

const USAGE = `usage: npm run test:soak -- kills [flags]
  --kills N        how many (200)
  --seed N         decides kinds and moments of the kills and the records (the clock)
  --from K         begins with kill K of this seed's plan
  --source V       Kafka version of the source (3.9.1)
  --destination V  and of the destination (4.4.0)
  --json FILE      the summary`;

const TOPIC = 'kills';
const PARTITIONS = 4;
const CHECK_EVERY = 20;
const STALL_MS = 60_000;

interface Options {
  readonly seed: number;
  readonly kills: number;
  readonly from: number;
  readonly source: KafkaVersion;
  readonly destination: KafkaVersion;
  readonly json: string | undefined;
}

/** Exit: 0 equal logs and quotas met, 1 not, 2 wrong usage. */
export async function run(args: readonly string[]): Promise<number> {
  const options = parse(args);
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  const { seed, kills, from } = options;
  const plan = planKills(seed, kills).slice(from - 1);
  console.log(`kills: ${plan.length} kills, seed ${seed}, ${options.source} to ${options.destination}`);
  console.log(
    `about ${Math.ceil((plan.length * 6 + 60) / 60)} minutes; the same again: --seed ${seed} --kills ${kills}`,
  );
  const begun = performance.now();
  const counts = new KillCounts();
  const result: Record<string, unknown> = { ok: false, seed, ...versionsOf(options) };
  const failures: string[] = [];
  const source = await startCluster({ version: options.source });
  const west = await startProxiedCluster({ version: options.destination }).catch(async (error: unknown) => {
    await source.destroy();
    throw error;
  });
  const isthmus = new Isthmus({ config: configOf(source, west) });
  const logs: TwoLogs = { source, destination: west.cluster, topic: TOPIC, partitions: PARTITIONS };
  let load: Load | undefined;
  try {
    await prepare(source);
    load = new Load({
      version: options.source,
      bootstrap: source.bootstrap,
      topic: TOPIC,
      partitions: PARTITIONS,
      seed,
    });
    await load.started();
    await isthmus.start();
    const topicId = await topicIdAt(west.cluster);
    await isthmus.kill();
    const broker = west.cluster.broker(1);
    const killer = new Killer({ isthmus, proxy: west.proxy, broker, topic: TOPIC, topicId });
    await loop(plan, { killer, isthmus, load, logs, counts, seed });
    result['load'] = await load.stop();
    if (!isthmus.running) killer.launch();
    const { batches, records } = await finish(logs, isthmus, failures);
    result['compared'] = { ...batches.counts, offsets: batches.offsets, records };
    failures.push(...counts.missing(quotasOf(plan.length)));
  } catch (error) {
    failures.push(error instanceof Error ? error.message : String(error));
    if (!(error instanceof Stopped)) console.error(error);
  } finally {
    if (failures.length > 0) keepEvidence(logs, isthmus, seed);
    await load?.kill();
    await isthmus.destroy();
    await Promise.all([source.destroy(), west.destroy()]);
  }
  Object.assign(result, counts.summary(), {
    ok: failures.length === 0,
    failures,
    minutes: Math.round((performance.now() - begun) / 6_000) / 10,
  });
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  for (const failure of failures) console.log(`FAILED ${failure}`);
  console.log(JSON.stringify(result));
  return failures.length === 0 ? 0 : 1;
}

class Stopped extends Error {}

interface LoopParts {
  readonly killer: Killer;
  readonly isthmus: Isthmus;
  readonly load: Load;
  readonly logs: TwoLogs;
  readonly counts: KillCounts;
  readonly seed: number;
}

async function loop(plan: readonly Kill[], parts: LoopParts): Promise<void> {
  const { killer, isthmus, load, logs, counts, seed } = parts;
  const queue = [...plan];
  const begun = performance.now();
  let repeated = 0;
  for (let kill = queue.shift(); kill !== undefined; kill = queue.shift()) {
    load.check();
    if (!isthmus.running) killer.launch();
    try {
      const killed = await killer.kill(kill);
      counts.add(killed);
      const done = counts.all.length;
      const left = ((performance.now() - begun) / done) * queue.length;
      const seen = [
        killed.inFlight && (killed.replied ? 'in flight, stored' : 'in flight'),
        killed.markers > 0 && `${killed.markers} markers`,
        killed.partial && 'run stored in part',
        killed.upMs !== null && `append ${(killed.upMs / 1000).toFixed(1)} s after start`,
      ].filter(Boolean);
      const place = `[${String(done).padStart(3)}/${done + queue.length}]`;
      console.log(
        `${place} ${kill.kind.padEnd(8)} ${seen.join(', ')}; ${Math.ceil(left / 60_000)} min to go`,
      );
    } catch (error) {
      // Once in a while a moment does not come; that the mirror stands still must not pass for that.
      if (++repeated > Math.max(3, plan.length / 20) || !isthmus.running) throw error;
      console.log(
        `      ${kill.kind.padEnd(8)} did not come about: ${(error as Error).message}; repeated at the end`,
      );
      await isthmus.kill();
      queue.push(killOf(seed, plan.length + repeated, kill.kind));
    }
    if (counts.all.length % CHECK_EVERY === 0) checkSoFar(logs);
  }
}

function checkSoFar(logs: TwoLogs): void {
  const { faults, offsets } = compareSoFar(logs);
  if (faults.length > 0) throw new Stopped(`the logs differ: ${faults.join('; ')}`);
  console.log(`      equal so far: ${offsets.toLocaleString('en')} offsets`);
}

/** Lets the mirror catch up, stops it, and compares everything. */
async function finish(
  logs: TwoLogs,
  isthmus: Isthmus,
  failures: string[],
): Promise<{ batches: BatchResult; records: number }> {
  const { source, destination, topic } = logs;
  const ends = await endsOf(source, topic, 'read_committed');
  console.log('no more kills: the mirror catches up');
  let before = { left: Number.POSITIVE_INFINITY, at: performance.now() };
  for (;;) {
    const now = await endsOf(destination, topic, 'read_uncommitted');
    const left = ends.reduce((sum, { partition, end }) => sum + end - (now[partition]?.end ?? 0), 0);
    if (left === 0) break;
    if (!isthmus.running) throw new Stopped('isthmus ended by itself while it caught up');
    if (left < before.left) before = { left, at: performance.now() };
    if (performance.now() - before.at > STALL_MS)
      throw new Stopped(`the mirror stands still with ${left} offsets to go`);
    console.log(`      ${left.toLocaleString('en')} offsets to go`);
    await sleep(5_000);
  }
  const stopped = await isthmus.stop();
  if (stopped?.code !== 0) failures.push(`isthmus ended with ${stopped?.code ?? stopped?.signal} at SIGTERM`);
  console.log('comparing batches on disk, then records by Java in both isolation levels');
  const batches = compareAll(logs, ends);
  const { records, faults } = await compareRecords(logs, ends);
  failures.push(...batches.faults, ...faults);
  return { batches, records };
}

async function prepare(source: KafkaCluster): Promise<void> {
  const args = [
    'create',
    '--bootstrap',
    source.bootstrap,
    '--topic',
    TOPIC,
    '--partitions',
    String(PARTITIONS),
  ];
  await runJava(source.version, 'AdminTool.java', args);
}

/** The destination's topic id in hexadecimal, as soon as the mirror has created the topic. */
async function topicIdAt(destination: KafkaCluster): Promise<string> {
  const args = ['describe', '--bootstrap', destination.bootstrap, '--topic', TOPIC];
  const look = async (): Promise<string> => {
    const [line] = await runJava(destination.version, 'AdminTool.java', args);
    const { topicId } = JSON.parse(line ?? '') as { topicId: string };
    return Buffer.from(topicId, 'base64url').toString('hex');
  };
  return until(`the mirror has created ${TOPIC}`, look, { timeoutMs: 60_000, everyMs: 500 });
}

function configOf(source: KafkaCluster, west: ProxiedCluster): string {
  return `clusters:
  east: { bootstrap.servers: "${source.bootstrap}" }
  west: { bootstrap.servers: "${west.bootstrapThroughProxy}" }
mirrors:
  - name: kills
    source: east
    destination: west
    topics: { include: [${TOPIC}] }
state: { partitions: 3, replication.factor: 1 }
`;
}

/** Copies what a fault can be found with to where the end of this process does not remove it. */
function keepEvidence(logs: TwoLogs, isthmus: Isthmus, seed: number): void {
  const folder = mkdtempSync(join(tmpdir(), `kills-seed-${seed}-`));
  cpSync(isthmus.logFile, join(folder, 'isthmus.log'));
  for (const [i, dir] of logDirs(logs).entries()) {
    const side = join(folder, i === 0 ? 'source' : 'destination');
    mkdirSync(side);
    for (let partition = 0; partition < logs.partitions; partition++) {
      const name = `${logs.topic}-${partition}`;
      try {
        cpSync(join(dir, name), join(side, name), { recursive: true });
      } catch {
        // The topic was not there yet.
      }
    }
  }
  console.log(`logs of isthmus and of both brokers are kept in ${folder}`);
  console.log(isthmus.excerpt(30));
}

function versionsOf({ source, destination }: Options): object {
  return { source, destination, node: process.version };
}

function parse(args: readonly string[]): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        kills: { type: 'string', default: '200' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        from: { type: 'string', default: '1' },
        source: { type: 'string', default: '3.9.1' },
        destination: { type: 'string', default: '4.4.0' },
        json: { type: 'string' },
      },
    });
    const [kills, seed, from] = [values.kills, values.seed, values.from].map(Number) as [
      number,
      number,
      number,
    ];
    const numbers = [kills, seed, from].every((one) => Number.isSafeInteger(one) && one >= 0);
    if (!numbers || from < 1 || from > kills) return null;
    return {
      kills,
      seed,
      from,
      source: version(values.source),
      destination: version(values.destination),
      json: values.json,
    };
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

function version(text: string): KafkaVersion {
  if (text === '4.4.0' || text === '3.9.1') return text;
  throw new Error(`no Kafka ${text} is set up here; there are 4.4.0 and 3.9.1`);
}
