import { afterEach, describe, expect, it } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import {
  API,
  fetchBody,
  metadataBody,
  produceBody,
  readEndpoints,
  readFetch,
  readMetadata,
} from '../fake-broker/support/requests.ts';
import type { WireClient } from '../fake-broker/support/wire-client.ts';

// P1: real broker addresses leaked through NodeEndpoints, and clients dialled past the proxy.
describe('P1 a leader moves under produce and fetch', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const moved = async (): Promise<{ client: WireClient; ours: object }> => {
    test = await startUnderTest({
      brokers: 3,
      topics: [{ name: 'orders', topicId: 'b3JkZXJzb3JkZXJzb3JkZQ' }],
    });
    test.fake.setLeader('orders', 0, 3);
    const client = await test.connect(1);
    return { client, ours: { id: 3, host: '127.0.0.1', port: test.portOf(3) } };
  };

  it.each([10, 11, 12, 13])('Produce %i names the new leader by our address', async (version) => {
    const { client, ours } = await moved();
    await client.call(API.metadata, 12, true, metadataBody(12, null));
    const topic = version >= 13 ? 'b3JkZXJzb3JkZXJzb3JkZQ' : 'orders';
    const body = produceBody(version, [{ topic, partitions: [{ index: 0, records: plainBatch(1) }] }]);
    const input = await client.call(API.produce, version, true, body);
    input.list(() => {
      if (version >= 13) input.uuid();
      else input.str();
      input.list(() => {
        input.take(4);
        expect(input.i16()).toBe(6);
        input.take(24);
        input.list(() => undefined);
        input.nstr();
        input.tags();
      });
      input.tags();
    });
    input.i32();
    expect(readEndpoints(input)).toEqual([ours]);
  });

  it.each([16, 17, 18])('Fetch %i names the new leader by our address', async (version) => {
    const { client, ours } = await moved();
    const body = fetchBody(version, [{ topic: 'b3JkZXJzb3JkZXJzb3JkZQ', index: 0, offset: 0 }]);
    const answer = readFetch(await client.call(API.fetch, version, true, body), version);
    expect(answer.partitions[0]?.code).toBe(6);
    expect(answer.endpoints).toEqual([ours]);
  });

  it('a new leader without a port of ours is not named at all', async () => {
    test = await startUnderTest({
      brokers: 3,
      topics: [{ name: 'orders', topicId: 'b3JkZXJzb3JkZXJzb3JkZQ' }],
      config: {
        brokerPorts: new Map([
          [1, 0],
          [2, 0],
        ]),
      },
    });
    test.fake.setLeader('orders', 0, 3);
    const client = await test.connect(1);
    const body = fetchBody(16, [{ topic: 'b3JkZXJzb3JkZXJzb3JkZQ', index: 0, offset: 0 }]);
    expect(readFetch(await client.call(API.fetch, 16, true, body), 16).endpoints).toEqual([]);
    const { brokers, topics } = readMetadata(
      await client.call(API.metadata, 12, true, metadataBody(12, null)),
      12,
    );
    expect(brokers.map(({ id }) => id)).toEqual([1, 2]);
    expect(topics[0]?.partitions).toEqual([{ code: 5, index: 0, leader: -1 }]);
  });
});
