import { afterEach, describe, expect, it } from 'vitest';
import { type Out, startFakeBroker } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, readMetadata } from '../fake-broker/support/requests.ts';

// F5: brokers moved to another cluster, clients mixed the metadata of two and wrote to the wrong one. Here an address
// that the gateway knows as its broker's leads to a broker of another cluster.
describe('F5 a broker address that leads to another cluster', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it.each([
    ['Metadata', API.metadata, 12, metadataBody(12, null)],
    ['DescribeCluster', API.describeCluster, 1, (out: Out): void => void out.bool(false).i8(1).tags()],
  ] as const)(
    'its answer to %s is shown to no client; the connection ends by its name',
    async (_, key, version, body) => {
      test = await startUnderTest({ brokers: 2, topics: ['orders'] });
      const other = await startFakeBroker({ clusterId: 'another-cluster-000000', topics: ['orders'] });
      const port = test.fake.address(2).port;
      await test.fake.stopNode(2);
      const moved = test.fake.state.nodes.find(({ id }) => id === 2);
      if (moved !== undefined) moved.port = other.address(1).port;
      await test.cluster.refresh([]);
      const client = await test.connect(2);
      client.post(key, version, true, body);
      await client.closed;
      expect(client.answers).toEqual([]);
      expect(other.requestsOf(key)).toHaveLength(1);
      await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'cluster-id-mismatch': 1 });
      if (moved !== undefined) moved.port = port;
      const good = await test.connect(1);
      const seen = readMetadata(await good.call(API.metadata, 9, true, metadataBody(9, null)), 9);
      expect(seen.clusterId).toBe(test.fake.clusterId);
      await other.close();
    },
  );
});
