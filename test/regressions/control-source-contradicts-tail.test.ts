import { afterEach, expect, test } from 'vitest';
import { KafkaSurroundings } from '../../src/control/surroundings.ts';
import { ReplayedView } from '../../src/control/state/view.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

// Own fault: a source that contradicted the tail of a partition (its log had diverged, a local producer had written)
// was taken for one that can't say: a failover listed the damage as merely unverified.
let one: LinkUnderTest;
afterEach(() => one.close());

test('a tail that the source contradicts differs; it is not merely unverified', async () => {
  one = await LinkUnderTest.start();
  one.to().append(plainBatch(3, { producerId: 5n, producerEpoch: 0 }));
  const surroundings = new KafkaSurroundings({
    destination: one.destinationCluster,
    stateTopic: '__mirror_state',
    openCluster: () =>
      new Cluster({ name: 'east', properties: { 'bootstrap.servers': one.source.bootstrap } }),
    linkSettings: () => ({ backoffMs: 5, maxBackoffMs: 50 }),
    mayAppend: () => true,
    view: new ReplayedView(1),
  });
  const session = await surroundings.openSource('m', 'east');
  try {
    expect(await session.compareTail({ topic: 't', partition: 0 }, 0, 3, 2000)).toMatchObject({
      kind: 'differs',
      offset: 0,
      message: expect.stringMatching(/local producer/),
    });
  } finally {
    await session.close();
    surroundings.close();
  }
});
