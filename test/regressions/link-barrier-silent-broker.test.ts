import { afterEach, expect, test } from 'vitest';
import { DestinationLog, LinkFailureError } from '../../src/link/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { plainBatch } from '../fake-broker/index.ts';

/**
 * Own fault: the barrier of a stop was waited for without end. A broker that froze with it in its hands held a failover
 * up for as long as it stayed frozen, though another led the partition long since.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const MARKERS = 27;
const ref = { topic: 't', partition: 0 };
const barrier = { expectedOffset: 3, sourceClusterId: 'source-cluster', generation: 1 };
const QUICK = { readBackTimeoutMs: 300, backoffMs: 5, maxBackoffMs: 50, markerStillMs: 60, ioThreads: 1 };

async function start(settings: object): Promise<DestinationLog> {
  one = await LinkUnderTest.start({ destination: { brokers: 2 } });
  one.destination.setLeader('t', 0, 1);
  await one.destinationCluster.refresh(['t']);
  one.to().append(plainBatch(3, { producerId: -9n }));
  return new DestinationLog(one.destinationCluster, ref, {
    mayAppend: () => true,
    settings: { ...QUICK, ...settings },
  });
}

test('the partition is led elsewhere meanwhile: it is written there, once', async () => {
  const log = await start({ silentAfterMs: 50, silenceMs: 60_000 });
  const frozen = one.destination.next(MARKERS, { kind: 'hold', when: 'before' });
  const written = log.appendBarrier(barrier);
  await frozen.met;
  one.destination.setLeader('t', 0, 2);
  expect(await written).toMatchObject({ end: 4, nodeId: 2 });
});

test('the broker leads on and says nothing: told by name, and the next try goes on', async () => {
  const log = await start({ silentAfterMs: 50, silenceMs: 200 });
  const frozen = one.destination.next(MARKERS, { kind: 'silence' });
  const failure = await log.appendBarrier(barrier).then(
    () => null,
    (error: unknown) => (error instanceof LinkFailureError ? error.failure : null),
  );
  await frozen.met;
  expect(failure).toMatchObject({ code: 'refused-by-broker', offset: 3, retriable: true });
  expect(failure?.message).toMatch(/t-0: broker 1 of west has not answered the barrier at 3/);
  // its effect stands: found, not written twice
  expect(await log.appendBarrier(barrier)).toMatchObject({ end: 4 });
  expect(one.to().end).toBe(4);
});
