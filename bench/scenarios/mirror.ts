import { parseArgs } from 'node:util';
import { compareBatches } from '../../test/harness/compare-batches.ts';
import { runJava, runKafkaTool } from '../../test/harness/java.ts';
import { type KafkaCluster, startCluster } from '../../test/harness/kafka-cluster.ts';
import { type Drained, drain, storedBytes } from '../mirror/drain.ts';
import { type Filled, fillTopic } from '../mirror/fill.ts';
import { type Shape, SHAPES } from '../mirror/shape.ts';
import type { Scenario, ScenarioOptions, ScenarioResult } from '../scenario.ts';

/**
 * Drains topics of 1 KiB records from one real broker into another, each by a fresh `isthmus run`.
 * GB = 10^9 bytes as stored, MB = 10^6. Source, destination, Isthmus and this process share the machine.
 * Every drain is followed by a comparison of both logs, batch for batch; its time is not counted.
 *
 * Flags: --shapes=NAME,... only these; --repeat=N drains of each shape; --node=ARG,... arguments for Isthmus' Node.
 */

const GB = 1e9;
const KIB = 1024;
const LIMITS = {
  peakRssBytes: 200e6,
  /** CPU seconds for a GB, by batch size. */
  cpuPerGb: new Map([
    [16 * KIB, 5],
    [512 * KIB, 3],
  ]),
};

interface Row {
  readonly shape: Shape;
  readonly filled: Filled;
  readonly mbPerSecond: Spread;
  readonly cpuSecondsPerGb: Spread;
  readonly peakRssMb: Spread;
  readonly runs: readonly Drained[];
  /** The same topic read by Kafka's own consumer-perf tool, in this run: MB/s. */
  readonly javaConsumerMbPerSecond: number | null;
}

interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

interface Limit {
  readonly name: string;
  readonly limit: number;
  readonly measured: number;
  readonly ok: boolean;
}

export const scenario: Scenario = {
  name: 'mirror',
  about: 'a mirror drains 1 GB of 1 KiB records: MB/s, CPU seconds per GB, peak RSS; each log compared',
  async run(options: ScenarioOptions): Promise<ScenarioResult> {
    const { shapes, repeat, nodeArgs } = flagsOf(options);
    const bytes = options.quick ? GB / 10 : GB;
    // The records carry one fixed time: by the default retention they would be gone at the broker's next look.
    const properties = { 'log.segment.delete.delay.ms': 500, 'log.retention.ms': -1 };
    const [source, destination] = await Promise.all([
      startCluster({ heapMb: 1024, properties }),
      startCluster({ heapMb: 1024, properties }),
    ]);
    const rows: Row[] = [];
    const limits: Limit[] = [];
    let run = 0;
    try {
      options.log(HEAD);
      for (const shape of shapes) {
        const topic = `bench-${shape.name}`;
        const bench = { source, destination, topic, shape };
        await create(source, topic, shape.partitions);
        const filled = await fillTopic(source.broker(1), topic, shape, bytes, options.signal);
        const stored = storedBytes(source, topic, shape.partitions);
        if (stored !== filled.bytes)
          throw new Error(`the source has ${stored} bytes, ${filled.bytes} were sent`);
        const runs: Drained[] = [];
        for (let turn = 0; turn < repeat; turn++) {
          const common = {
            source,
            destination,
            topic,
            partitions: shape.partitions,
            nodeArgs,
            signal: options.signal,
          };
          runs.push(await drain({ ...common, bytes: filled.bytes, run: run++ }));
          compare(bench, filled);
          await remove(destination, topic);
        }
        const row = rowOf(shape, filled, runs, await consumerRate(source, topic, filled));
        await remove(source, topic);
        rows.push(row);
        options.log(lineOf(row));
        // A tenth of the data is mostly warming up: its figures say nothing about the limits.
        if (!options.quick) limits.push(...limitsOf(row));
      }
    } finally {
      await Promise.all([source.destroy(), destination.destroy()]);
    }
    for (const { name, ok, measured, limit } of limits) {
      options.log(`${ok ? 'ok    ' : 'FAILED'} ${name}: ${figure(measured)}, limit ${limit}`);
    }
    return { ok: limits.every(({ ok }) => ok), what: WHAT, bytes, repeat, rows, limits };
  },
};

const HEAD =
  'shape           batches    MB/s (least-most)      CPU s/GB (least-most)   peak RSS MB   start CPU s   Java consumer MB/s';

const WHAT =
  'fresh process each drain; MB/s between the last look without data and the first with all; CPU of the Isthmus ' +
  'process alone, user and system, less its idle rate; GB = 1e9 bytes as stored; two brokers, Isthmus and the bench ' +
  'share the machine';

interface Bench {
  readonly source: KafkaCluster;
  readonly destination: KafkaCluster;
  readonly topic: string;
  readonly shape: Shape;
}

/** @throws Error naming the first differences; a fast mirror that is wrong has no figures */
function compare({ source, destination, topic, shape }: Bench, filled: Filled): void {
  let batches = 0;
  for (let partition = 0; partition < shape.partitions; partition++) {
    const { counts, faults } = compareBatches({
      sourceLogDir: source.broker(1).logDir,
      destinationLogDir: destination.broker(1).logDir,
      topic,
      partition,
      upTo: filled.records / shape.partitions,
    });
    if (faults.length > 0) throw new Error(`the logs differ: ${faults.join('; ')}`);
    batches += counts.data;
  }
  if (batches !== filled.batches)
    throw new Error(`${batches} batches were compared, there are ${filled.batches}`);
}

async function create(cluster: KafkaCluster, topic: string, partitions: number): Promise<void> {
  const args = [
    'create',
    '--bootstrap',
    cluster.bootstrap,
    '--topic',
    topic,
    '--partitions',
    String(partitions),
  ];
  await runJava(cluster.version, 'AdminTool.java', args);
}

async function remove(cluster: KafkaCluster, topic: string): Promise<void> {
  await runJava(cluster.version, 'AdminTool.java', [
    'delete',
    '--bootstrap',
    cluster.bootstrap,
    '--topic',
    topic,
  ]);
}

/** Reading alone, by the stock tool and its defaults: what a drain can't beat by much on this machine. */
async function consumerRate(cluster: KafkaCluster, topic: string, filled: Filled): Promise<number | null> {
  const args = [
    '--bootstrap-server',
    cluster.bootstrap,
    '--topic',
    topic,
    '--messages',
    String(filled.records),
  ];
  const lines = await runKafkaTool(cluster.version, 'org.apache.kafka.tools.ConsumerPerformance', [
    ...args,
    '--timeout',
    '60000',
  ]);
  const header = lines.find((line) => line.includes('fetch.time.ms'))?.split(', ');
  const values = lines.at(-1)?.split(', ');
  const milliseconds = Number(values?.[header?.indexOf('fetch.time.ms') ?? -1]);
  return milliseconds > 0 ? filled.bytes / 1e6 / (milliseconds / 1000) : null;
}

function rowOf(shape: Shape, filled: Filled, runs: readonly Drained[], javaConsumer: number | null): Row {
  const gb = filled.bytes / GB;
  return {
    shape,
    filled,
    mbPerSecond: spread(runs.map(({ seconds }) => filled.bytes / 1e6 / seconds)),
    cpuSecondsPerGb: spread(runs.map(({ cpuSeconds }) => cpuSeconds / gb)),
    peakRssMb: spread(runs.map(({ peakRssBytes }) => peakRssBytes / 1e6)),
    runs,
    javaConsumerMbPerSecond: javaConsumer,
  };
}

function limitsOf({ shape, cpuSecondsPerGb, peakRssMb }: Row): Limit[] {
  const rss = LIMITS.peakRssBytes / 1e6;
  const limits = [
    { name: `${shape.name}: peak RSS, MB`, limit: rss, measured: peakRssMb.most, ok: peakRssMb.most <= rss },
  ];
  const cpu = LIMITS.cpuPerGb.get(shape.batchBytes);
  if (cpu !== undefined) {
    const measured = cpuSecondsPerGb.median;
    limits.push({ name: `${shape.name}: CPU seconds per GB`, limit: cpu, measured, ok: measured <= cpu });
  }
  return limits;
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const [least, median, most] = [0, sorted.length >> 1, sorted.length - 1].map(
    (at) => sorted[at] ?? Number.NaN,
  );
  return { median: median as number, least: least as number, most: most as number };
}

function lineOf({
  shape,
  filled,
  mbPerSecond,
  cpuSecondsPerGb,
  peakRssMb,
  runs,
  javaConsumerMbPerSecond,
}: Row): string {
  const show = ({ median, least, most }: Spread): string =>
    `${figure(median)} (${figure(least)}-${figure(most)})`;
  const start = spread(runs.map(({ startCpuSeconds }) => startCpuSeconds));
  return [
    shape.name.padEnd(13),
    String(filled.batches).padStart(9),
    show(mbPerSecond).padStart(20),
    show(cpuSecondsPerGb).padStart(26),
    figure(peakRssMb.most).padStart(13),
    figure(start.median).padStart(13),
    javaConsumerMbPerSecond === null ? 'unknown' : figure(javaConsumerMbPerSecond).padStart(20),
  ].join(' ');
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

function flagsOf({ args, quick }: ScenarioOptions): { shapes: Shape[]; repeat: number; nodeArgs: string[] } {
  const { values } = parseArgs({
    args: [...args],
    options: { shapes: { type: 'string' }, repeat: { type: 'string' }, node: { type: 'string' } },
  });
  const wanted = values.shapes?.split(',');
  const unknown = wanted?.filter((name) => !SHAPES.some((shape) => shape.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`no shape ${unknown.join(', ')}; there are ${SHAPES.map(({ name }) => name).join(', ')}`);
  }
  return {
    shapes: SHAPES.filter(({ name }) => wanted === undefined || wanted.includes(name)),
    repeat: Number(values.repeat ?? (quick ? 1 : 3)),
    nodeArgs: values.node?.split(',') ?? [],
  };
}
