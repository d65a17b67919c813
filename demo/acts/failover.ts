import { runJava } from '../../test/harness/java.ts';
import { PATIENTLY } from '../patience.ts';
import { until } from '../../test/harness/until.ts';
import { describeMirror, isthmusLines, type PartitionRow } from '../describe.ts';
import { flags } from '../../test/harness/flags.ts';
import { difference, readAll } from '../readers.ts';
import { MIRROR, type Stage, TOPIC } from '../stage.ts';
import type { Story } from '../story.ts';
import { SOURCE_SETTINGS } from './mirror.ts';
import type { Truth } from './prove.ts';

/** Act three: the source is gone, Isthmus starts without it, the failover needs nothing but the destination. */
export async function failOver(stage: Stage, story: Story, truth: Truth): Promise<void> {
  const { east, isthmus, gateway } = stage;
  story.chapter('East is lost; Isthmus is restarted without it');
  await isthmus.kill();
  await east.stop();
  await isthmus.start();
  const before = await describeMirror(gateway);
  const why = await until(
    'the mirror says that its source is away',
    async () => {
      const rows = await describeMirror(gateway);
      return rows.find(({ errorMessage }) => errorMessage !== null && errorMessage !== '')?.errorMessage;
    },
    PATIENTLY,
  );
  story.check(
    'ready without the source, which is a warning and the mirror’s error',
    before.length > 0,
    why.slice(0, 160),
  );

  story.chapter('failover');
  const began = performance.now();
  const printed = await isthmusLines([
    'mirror',
    'failover',
    MIRROR,
    '--all',
    '--yes',
    '--bootstrap-server',
    gateway,
  ]);
  const seconds = (performance.now() - began) / 1000;
  story.show(printed, 16);
  const rows = await describeMirror(gateway);
  story.check(
    'every partition is STOPPED, with the source away',
    rows.every(({ state }) => state === 'STOPPED') && !east.brokers.some(({ running }) => running),
    `${rows.length} partitions in ${seconds.toFixed(1)} s`,
  );
  story.figure('failoverSeconds', Math.round(seconds * 10) / 10);
  await proveBarrier(stage, story, rows, truth);
  const [line = '{}'] = await until(
    'the source’s settings are back',
    async () => {
      const lines = await runJava('3.9.1', 'AdminTool.java', [
        'configs',
        '--bootstrap',
        stage.west.cluster.bootstrap,
        '--topic',
        TOPIC,
      ]);
      const now = JSON.parse(lines[0] ?? '{}') as Record<string, string>;
      return Object.entries(SOURCE_SETTINGS).every(([name, value]) => now[name] === value) && lines;
    },
    PATIENTLY,
  );
  story.check("the source's settings of the topic are given back", true, line.slice(0, 160));
}

async function proveBarrier(
  stage: Stage,
  story: Story,
  rows: readonly PartitionRow[],
  truth: Truth,
): Promise<void> {
  for (const { partition, barrierOffset = -1, lastMirroredOffset = -1 } of rows) {
    const end = truth.ends.get(partition) as number;
    const where = {
      'bootstrap-server': stage.west.cluster.bootstrap,
      topic: TOPIC,
      partition,
      from: end - 1,
    };
    const lines = await isthmusLines(['dump', ...flags(where)]);
    const barrier = lines.filter((one) => one.includes('MIRROR_PID_RESET'));
    story.check(
      `partition ${partition}: the barrier stands at the last mirrored offset + 1 in isthmus dump`,
      barrier.length >= 1 &&
        barrierOffset === end &&
        lastMirroredOffset === end - 1 &&
        lines.some((one) => one.includes(`${end}`)),
      (barrier[0] ?? 'no barrier').trim().slice(0, 180),
    );
  }
  const end = truth.ends.get(0) as number;
  const where = { 'bootstrap-server': stage.gateway, topic: TOPIC, partition: 0, from: end, to: end + 1 };
  const shown = (await isthmusLines(['dump', ...flags(where)])).find((one) =>
    one.includes('MIRROR_PID_RESET'),
  );
  story.check(
    'a Fetch through the gateway shows it as control type 7 with the cluster id of its source',
    shown?.includes(stage.east.clusterId) === true,
    (shown ?? 'no barrier').trim().slice(0, 180),
  );
  const behind = new Map([...truth.ends].map(([partition, end]) => [partition, end + 1]));
  for (const isolation of ['read_committed', 'read_uncommitted'] as const) {
    const there = await readAll({
      version: '3.9.1',
      bootstrap: stage.gateway,
      topic: TOPIC,
      isolation,
      to: behind,
    });
    const wrong = difference(truth.seen, there);
    story.check(
      `the barrier is invisible to a ${isolation} consumer`,
      wrong === null,
      wrong ?? 'same records, position behind it',
    );
  }
}
