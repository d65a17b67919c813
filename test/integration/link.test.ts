import { describe, expect, inject, test } from 'vitest';
import { runJava, startJava } from '../harness/java.ts';
import { RealLink } from '../harness/real-link.ts';
import { until } from '../harness/until.ts';

const { kafka44, kafka39 } = inject('clusters');
const directions = [
  { source: kafka44, destination: kafka39 },
  { source: kafka39, destination: kafka44 },
];

describe.each(directions)('a mirror from $source.version to $destination.version', (sides) => {
  const arrow = `${sides.source.version}-${sides.destination.version}`;
  const produce = (topic: string, ...args: string[]) => [
    '--bootstrap',
    sides.source.bootstrap,
    '--topic',
    topic,
    ...args,
  ];

  test('transactions, idempotent and plain data in all codecs are equal in both isolation levels', async () => {
    await using link = new RealLink(sides);
    const topic = `link-mixed-${arrow}`;
    await link.mirror(topic, 3);
    const { version } = sides.source;
    const mixed = ['--partitions', '3', '--codec', 'all', '--count', '1500'];
    const inTransactions = ['--mode', 'transactional', '--producers', '6', '--abort-every', '3'];
    await Promise.all([
      runJava(
        version,
        'Produce.java',
        produce(topic, ...mixed, ...inTransactions, '--records-per-txn', '20'),
      ),
      runJava(version, 'Produce.java', produce(topic, ...mixed, '--mode', 'plain')),
    ]);
    await runJava(version, 'Produce.java', produce(topic, ...mixed, '--mode', 'idempotent'));
    const open = startJava(version, 'OpenTxn.java', produce(topic, '--count', '5', '--partition', '1'));
    await open.line(/^READY/);
    await runJava(version, 'Produce.java', produce(topic, '--partitions', '3', '--count', '30'));

    const ends = await link.caughtUp(topic, 3);
    const counts = await link.expectEqual(topic, ends);
    expect(counts.data).toBeGreaterThan(50);
    expect(counts.commits).toBeGreaterThan(30);
    expect(counts.inertForAborted).toBeGreaterThan(100);
    // what the open transaction holds back is not at the destination
    expect(link.progress(topic, 1).sourceHighWatermark).toBeGreaterThan(ends[1] as number);
    expect(link.progress(topic, 1).destinationEnd).toBe(ends[1]);

    open.stdin.write('commit\n');
    await open.line(/^COMMITTED/);
    await open.ended;
    link.expectSameBatches(topic, await link.caughtUp(topic, 3));
  });

  test('a new owner that knows less than what stands there compares it and goes on', async () => {
    await using link = new RealLink(sides);
    const topic = `link-takeover-${arrow}`;
    await link.mirror(topic, 2);
    const writer = startJava(
      sides.source.version,
      'Produce.java',
      produce(topic, '--partitions', '2', '--mode', 'transactional', '--producers', '3', '--abort-every', '4') //
        .concat('--records-per-txn', '10', '--rate', '600', '--until-stop'),
    );
    await writer.line(/^STARTED/);
    for (let round = 0; round < 3; round += 1) {
      const before = [0, 1].map((partition) => Math.max(0, link.progress(topic, partition).destinationEnd));
      await until('it moved on', () => link.progress(topic, 0).destinationEnd > (before[0] ?? 0) + 100);
      await link.takeOver(topic, before);
      await until('it is mirroring', () => link.progress(topic, 0).phase === 'mirroring');
      expect(link.progress(topic, 0).settledBy).toBe('probe');
    }
    writer.stdin.end();
    await writer.ended;
    link.expectSameBatches(topic, await link.caughtUp(topic, 2));
  });
});
