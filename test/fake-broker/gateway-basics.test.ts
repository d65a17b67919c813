import { afterEach, describe, expect, it } from 'vitest';
import { plainBatch } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import {
  API,
  apiVersionsBody,
  fetchBody,
  metadataBody,
  produceBody,
  readApiVersions,
  readFetch,
  readMetadata,
  readProduce,
} from './support/requests.ts';

describe('a gateway in front of a cluster', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('lets a client produce and fetch through it', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    const answer = await client.call(
      API.produce,
      9,
      true,
      produceBody(9, [{ topic: 'orders', partitions: [{ index: 0, records: plainBatch(3) }] }]),
    );
    expect(readProduce(answer, 9)).toMatchObject([{ code: 0, base: 0 }]);
    const fetched = await client.call(
      API.fetch,
      12,
      true,
      fetchBody(12, [{ topic: 'orders', index: 0, offset: 0 }]),
    );
    const { partitions } = readFetch(fetched, 12);
    expect(
      partitions[0]?.records.equals(test.fake.log('orders', 0).batches[0]?.bytes ?? Buffer.alloc(0)),
    ).toBe(true);
  });

  it.each([0, 1, 4, 8, 9, 12])('tells only its own addresses in Metadata %i', async (version) => {
    test = await startUnderTest({ brokers: 3, topics: [{ name: 'orders', partitions: 3 }] });
    const client = await test.connect();
    const body =
      version === 0
        ? (out: import('./index.ts').Out) => void out.list([], () => undefined)
        : version < 4
          ? (out: import('./index.ts').Out) => void out.list(null, () => undefined)
          : metadataBody(version, null);
    const { brokers, topics, clusterId } = readMetadata(
      await client.call(API.metadata, version, version >= 9, body),
      version,
    );
    expect(brokers).toEqual([1, 2, 3].map((id) => ({ id, host: '127.0.0.1', port: test.portOf(id) })));
    expect(topics[0]?.partitions.map(({ leader }) => leader)).toEqual([1, 2, 3]);
    if (version >= 2) expect(clusterId).toBe(test.fake.clusterId);
  });

  it('offers what the broker announces, cut to what it can rewrite', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    const { ranges, code } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(code).toBe(0);
    expect(ranges.get(API.metadata)).toEqual([0, 13]);
    expect(ranges.get(94)).toEqual([0, 0]);
    expect(ranges.has(32001)).toBe(false);
  });
});
