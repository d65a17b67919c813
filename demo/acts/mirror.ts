import { runIsthmus } from '../../test/harness/isthmus.ts';
import { type JavaProcess, startJava } from '../../test/harness/java.ts';
import { PATIENTLY } from '../patience.ts';
import { until } from '../../test/harness/until.ts';
import { describeMirror } from '../describe.ts';
import { flags } from '../../test/harness/flags.ts';
import { createTopic, levelIds, MIRROR, PARTITIONS, type Stage, TOPIC } from '../stage.ts';
import type { Story } from '../story.ts';
import { Writers } from '../writers.ts';

const PRODUCE = 0;
const COUNTS = { plain: 60_000, idempotent: 75_000, transactional: 75_000 };
const OPEN_PARTITION = 3;
/** Given to the source topic so that something has to come back at the end. */
export const SOURCE_SETTINGS = { 'retention.ms': '86400000', 'max.message.bytes': '2000000' };

export interface Copy {
  /** Producer id from which the source's writers got theirs. */
  readonly firstId: number;
  readonly open: JavaProcess;
}

/** Act one: writers at east while the mirror runs, a refused write at west, a kill with a request in flight. */
export async function mirrorWhileKilled(stage: Stage, story: Story): Promise<Copy> {
  const { east, west, isthmus, gateway } = stage;
  story.say(`east ${east.clusterId} at ${east.bootstrap}`);
  story.say(
    `west ${west.cluster.clusterId} at ${west.cluster.bootstrap}, behind a proxy at ${west.bootstrapThroughProxy}`,
  );
  await createTopic(stage, SOURCE_SETTINGS);

  story.chapter('Isthmus starts: gateway in front of west, mirror east-to-west from its YAML');
  await isthmus.start();
  await until(
    'the mirror is MIRRORING',
    async () => {
      const rows = await describeMirror(gateway);
      return rows.length === PARTITIONS && rows.every(({ state }) => state === 'MIRRORING');
    },
    PATIENTLY,
  );
  story.say(`gateway at ${gateway}, mirror ${MIRROR} MIRRORING on ${PARTITIONS} partitions`);
  const firstId = await levelIds(stage);
  story.say(
    `ids burned at east: its writers get producer ids from ${firstId} on, as writers at west will later`,
  );

  story.chapter('Java producers write to east: plain, idempotent and transactional, five codecs each');
  const began = performance.now();
  const writers = new Writers({
    version: '4.4.0',
    bootstrap: east.bootstrap,
    counts: COUNTS,
    transactionalId: 'east-writer',
    seed: 1,
    rate: 6_000,
  });
  await writers.started();
  await refusedWrite(stage, story);
  await killInFlight(stage, story);

  const totals = await writers.totals();
  const seconds = (performance.now() - began) / 1000;
  story.figure('source', { ...totals, seconds: Math.round(seconds) });
  const { acked, committedTransactions, abortedTransactions } = totals;
  story.check(
    'at least 200,000 records written while the mirror ran',
    acked >= 200_000,
    `${acked} records in ${seconds.toFixed(0)} s, ${committedTransactions} transactions committed, ${abortedTransactions} aborted`,
  );
  const open = startJava(
    '4.4.0',
    'OpenTxn.java',
    flags({
      bootstrap: east.bootstrap,
      topic: TOPIC,
      partition: OPEN_PARTITION,
      count: 25,
      'transactional-id': 'never-ends',
      'timeout-ms': 900_000,
    }),
  );
  await open.line(/^READY/);
  story.say(
    `one more transaction stays open on partition ${OPEN_PARTITION}: what it wrote may never be seen at west`,
  );
  return { firstId, open };
}

/** The copy is read-only: a stock producer gets an error that a person can read. */
async function refusedWrite(stage: Stage, story: Story): Promise<void> {
  const writer = startJava('3.9.1', 'Produce.java', [
    ...flags({ bootstrap: stage.gateway, topic: TOPIC, count: 1 }),
    ...flags({ config: 'delivery.timeout.ms=20000' }),
    ...flags({ config: 'request.timeout.ms=10000' }),
  ]);
  const { code } = await writer.ended;
  const text = writer.stderr();
  const line =
    text.split('\n').find((one) => one.includes(MIRROR) && one.includes('Exception')) ?? text.slice(0, 300);
  story.check(
    'a Produce through the gateway is refused with a readable error',
    code !== 0 && /PolicyViolation/.test(text) && text.includes(MIRROR),
    line.trim().slice(0, 220),
  );
}

async function killInFlight(stage: Stage, story: Story): Promise<void> {
  const { west, isthmus, gateway } = stage;
  story.chapter('Isthmus is killed (-9) with a request in flight, and started again');
  await until(
    'some of the copy stands at west',
    async () => {
      const rows = await describeMirror(gateway);
      return rows.every(({ destinationOffset }) => destinationOffset > 3_000);
    },
    PATIENTLY,
  );
  const held = await west.proxy.holdReply(PRODUCE, { where: ({ frame }) => frame.includes(TOPIC) });
  const pid = isthmus.pid;
  await isthmus.kill();
  const answered = await held.reply;
  held.cut();
  story.check(
    'killed while a Produce was forwarded and unanswered',
    !isthmus.running,
    `process ${pid}, correlation id ${held.request.correlationId}; the broker's answer came ${answered === null ? 'never' : 'when nobody was there'}`,
  );
  await isthmus.start();
  const rows = await until(
    'every partition is recovered',
    async () => {
      const now = await describeMirror(gateway);
      return now.every(({ state, phase }) => state === 'MIRRORING' && phase === 'mirroring') && now;
    },
    PATIENTLY,
  );
  story.check(
    'nothing was sent again before the end of each partition was settled and compared with the source',
    rows.every(({ settledBy }) => settledBy === 'probe'),
    rows.map(({ partition, settledBy }) => `partition ${partition} by ${settledBy}`).join(', '),
  );
  const list = await runIsthmus(['mirror', 'list', '--bootstrap-server', gateway]);
  story.show(list.stdout.trimEnd().split('\n'));
}
