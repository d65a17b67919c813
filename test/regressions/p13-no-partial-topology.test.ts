import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, readMetadata } from '../fake-broker/support/requests.ts';

// P13: during a proxy's recovery a consumer saw metadata without its partition and quit for good.
describe('P13 the cluster is away while a client asks for metadata', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('nothing is answered until it is back, then all of it', async () => {
    test = await startUnderTest({ brokers: 2, topics: [{ name: 'orders', partitions: 4 }] });
    await test.fake.stopNode(1);
    await test.fake.stopNode(2);
    const during = await test.connect();
    during.post(API.metadata, 9, true, metadataBody(9, ['orders']));
    await during.closed;
    expect(during.answers).toEqual([]);

    await test.fake.startNode(1);
    const after = await test.connect();
    const { brokers, topics } = readMetadata(
      await after.call(API.metadata, 9, true, metadataBody(9, ['orders'])),
      9,
    );
    expect(brokers).toHaveLength(2);
    expect(topics[0]?.partitions).toHaveLength(4);
  });

  it('a broker that goes away under a client closes that client instead of answering from memory', async () => {
    test = await startUnderTest({ brokers: 2, topics: ['orders'] });
    const client = await test.connect(1);
    await client.call(API.metadata, 9, true, metadataBody(9, null));
    await test.fake.stopNode(1);
    await client.closed;
    expect(client.answers).toHaveLength(1);
  });
});
