import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import type { OffsetSpan } from '../../src/link/index.ts';
import { runJava } from '../harness/java.ts';
import { type KafkaCluster, startCluster } from '../harness/kafka-cluster.ts';
import { RealLink } from '../harness/real-link.ts';
import { until } from '../harness/until.ts';

// A real destination that comes back with an empty log, as a broker whose disk was wiped does; and one that reads only
// small requests, of which it says nothing but the end of the connection.
let destination: KafkaCluster | null = null;
afterAll(() => destination?.destroy());

test('a wiped log is mirrored again, told first; a broker that reads little gets small requests', {
  timeout: 180_000,
}, async () => {
  const source = inject('clusters').kafka39;
  destination = await startCluster({
    version: '4.4.0',
    properties: () => ({ 'socket.request.max.bytes': '60000' }),
  });
  const topic = 'link-destination-lost-log';
  const lost: { readonly partition: number; readonly span: OffsetSpan }[] = [];
  await using link = new RealLink(
    { source, destination: sideOf(destination) },
    {
      hooks: {
        rewound: async ({ partition }, span) => void lost.push({ partition, span }),
      },
    },
  );
  await link.mirror(topic, 6);
  const produce = (...more: string[]) =>
    runJava('3.9.1', 'Produce.java', ['--bootstrap', source.bootstrap, '--topic', topic, ...more]);
  // six batches of up to 16 KiB at a time, and runs of markers: more than the broker reads at once
  await produce('--count', '6000', '--mode', 'transactional', '--abort-every', '3');
  const ends = await link.caughtUp(topic, 6);

  const [broker] = destination.brokers;
  if (broker === undefined) throw new Error('no broker');
  await destination.stopBroker(broker.id);
  rmSync(join(broker.logDir, `${topic}-0`), { recursive: true });
  await destination.start(broker.id);
  await produce('--count', '600');
  await until('the loss was told', () => lost.length > 0, { timeoutMs: 60_000 });
  const after = await link.caughtUp(topic, 6);
  expect(lost).toEqual([{ partition: 0, span: { from: 0, to: ends[0] } }]);
  await link.expectEqual(topic, after);
});

function sideOf(cluster: KafkaCluster) {
  const logDirs = Object.fromEntries(cluster.brokers.map(({ id, logDir }) => [id, logDir]));
  return { version: cluster.version, bootstrap: cluster.bootstrap, logDirs };
}
