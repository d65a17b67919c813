import { afterEach, expect, test } from 'vitest';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { type FakeCluster, plainBatch, startFakeBroker } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * Own fault: a broker came back at another address, and its old one had become another broker's. Connections that were
 * opened before metadata was asked again led to the wrong broker, which answers "not the leader", for as long as they
 * stood.
 */
const METADATA = 3;
let close: () => Promise<unknown> = async () => undefined;
afterEach(() => close());

/** Where the two are told to be is swapped; both go on listening where they are. */
function swap(fake: FakeCluster): void {
  const [one, two] = fake.state.nodes;
  if (one === undefined || two === undefined) throw new Error('two brokers are needed');
  [one.port, two.port] = [two.port, one.port];
}

test('a new connection leads to where the broker is now', async () => {
  const fake = await startFakeBroker({ brokers: 2, topics: ['t'] });
  const cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
  close = () => Promise.all([cluster.close(), fake.close()]);
  await cluster.connect();
  const before = cluster.brokers().find(({ nodeId }) => nodeId === 1)?.port;
  swap(fake);
  const connection = await cluster.connection(1, 'append');
  expect(connection.peer).toBe(`127.0.0.1:${fake.address(1).port}`);
  expect(fake.address(1).port).not.toBe(before);
  await connection.call(metadataApi, { topics: [] });
  expect(fake.requestsOf(METADATA).at(-1)?.node).toBe(2);
});

test('a mirror goes on', async () => {
  const two = { brokers: 2, topics: [{ name: 't', partitions: 1 }] };
  const link = await LinkUnderTest.start({ source: two, destination: two });
  close = () => link.close();
  // known are the addresses from before the swap
  for (const fake of [link.source, link.destination]) swap(fake);
  await Promise.all([link.sourceCluster.refresh([]), link.destinationCluster.refresh([])]);
  for (const fake of [link.source, link.destination]) swap(fake);
  link.from().append(plainBatch(3));
  link.add();
  await link.mirrored();
  link.expectEqual();
});
