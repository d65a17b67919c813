import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { dumpLogSegments } from '../harness/dump-log.ts';
import { runJava, startJava } from '../harness/java.ts';
import { startCluster } from '../harness/kafka-cluster.ts';
import { tempDir } from '../harness/temp-dir.ts';
import { until } from '../harness/until.ts';

interface PartitionRead {
  partition: number;
  end: number;
  position: number;
  records: number;
  sha256: string;
}

const parse = <T>(lines: readonly string[]): T[] => lines.map((line) => JSON.parse(line) as T);

for (const name of ['kafka44', 'kafka39'] as const) {
  const { version, bootstrap } = inject('clusters')[name];
  const at = ['--bootstrap', bootstrap];

  describe(`the harness on Kafka ${version}`, () => {
    test('helpers that run side by side in one JVM keep arguments, output and failures apart', async () => {
      const topics = ['one', 'two', 'three'].map((end) => `harness-beside-${version}-${end}`);
      const create = (topic: string) =>
        runJava(version, 'AdminTool.java', ['create', ...at, '--topic', topic]);
      const describe = (topic: string) =>
        runJava(version, 'AdminTool.java', ['describe', ...at, '--topic', topic]);
      await Promise.all(topics.map(create));
      // a broker knows a topic a moment after the controller has made it
      await until('all are known', async () => Promise.all(topics.map(describe)));
      const described = topics.map(describe);
      const again = topics.map((topic) => create(topic).catch((error: unknown) => String(error)));
      const unknown = runJava(version, 'AdminTool.java', ['nonsense', ...at]).catch(
        (error: unknown) => error,
      );
      for (const [n, topic] of topics.entries()) {
        expect(parse<{ topic: string }>((await described[n]) ?? [])).toMatchObject([{ topic }]);
        expect(await again[n]).toMatch(new RegExp(`ended with 1[^]*TopicExists[^]*'${topic}'`));
      }
      expect(String(await unknown)).toMatch(/ended with 1[^]*unknown command nonsense/);
    });

    test('reads back what mixed producers wrote, aborted and open transactions told apart', async () => {
      const topic = `harness-mixed-${version}`;
      await runJava(version, 'AdminTool.java', ['create', ...at, '--topic', topic, '--partitions', '2']);
      const produce = ['--topic', topic, '--partitions', '2', '--count', '2000', '--codec', 'all', ...at];
      const inTransactions = ['--mode', 'transactional', '--abort-every', '3'];
      const written = await runJava(version, 'Produce.java', [...produce, ...inTransactions, '--acks']);
      const open = startJava(version, 'OpenTxn.java', [...at, '--topic', topic, '--count', '5']);
      await open.line(/^READY/);

      const dir = tempDir('dump');
      const from = [...at, '--topic', topic];
      const read = async (isolation: string) =>
        parse<PartitionRead>(
          await runJava(version, 'ReadAll.java', [
            ...from,
            '--isolation',
            isolation,
            '--dump',
            join(dir.path, isolation),
          ]),
        );
      const [committed, everything] = await Promise.all([read('read_committed'), read('read_uncommitted')]);

      const acks = parse<{ partition: number; offset: number; fate: string }>(
        written.filter((line) => line.startsWith('{"partition"')),
      );
      const of = (fate: string) =>
        acks.filter((ack) => ack.fate === fate).map(({ partition, offset }) => `${partition} ${offset}`);
      const dumped = readFileSync(join(dir.path, 'read_committed'), 'utf8').trimEnd().split('\n');
      expect(dumped.map((line) => line.split(' ', 2).join(' ')).sort()).toEqual(of('commit').sort());
      const total = (reads: readonly PartitionRead[]) => reads.reduce((sum, one) => sum + one.records, 0);
      expect(total(everything)).toBe(total(committed) + of('abort').length + 5);
      expect(of('abort').length).toBeGreaterThan(0);
      expect(everything[0]?.end).toBe((committed[0]?.end ?? 0) + 5);

      open.stdin.write('abort\n');
      await open.line(/^ABORTED/);
      await open.ended;
    });
  });
}

test('burned ids put the next producer at a wanted id, and a cluster killed with -9 comes back as it was', async () => {
  await using cluster = await startCluster({ version: '4.4.0' });
  const own = ['--bootstrap', cluster.bootstrap];
  await runJava('4.4.0', 'AdminTool.java', ['create', ...own, '--topic', 't']);
  const burned = await runJava('4.4.0', 'BurnIds.java', [...own, '--next', '4321']);
  await runJava('4.4.0', 'Produce.java', [...own, '--topic', 't', '--count', '100']);
  expect(burned[0]).toMatch(/"last":4320\}$/);

  await cluster.stop();
  expect(cluster.brokers[0]?.pid).toBeUndefined();
  const folder = join(cluster.brokers[0]?.logDir ?? '', 't-0');
  const segment = readdirSync(folder).find((file) => file.endsWith('.log')) as string;
  expect((await dumpLogSegments('4.4.0', join(folder, segment))).join('\n')).toMatch(/producerId: 4321 /);

  await cluster.startAll();
  const read = parse<PartitionRead>(await runJava('4.4.0', 'ReadAll.java', [...own, '--topic', 't']));
  expect(read[0]?.records).toBe(100);
  const [about] = parse<{ clusterId: string }>(await runJava('4.4.0', 'AdminTool.java', ['cluster', ...own]));
  expect(about?.clusterId).toBe(cluster.clusterId);
});
