import { afterEach, describe, expect, it } from 'vitest';
import { gatewayNotice, type GatewayNotice } from '../../src/observe/channels.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, readMetadata } from '../fake-broker/support/requests.ts';

// P14: clients were told 0.0.0.0 and a random port although an advertised host was set.
describe('P14 what clients are told', () => {
  let test: UnderTest | null = null;
  afterEach(async () => {
    await test?.close();
    test = null;
  });

  it('bound to a wildcard: only the advertised name and our ports', async () => {
    test = await startUnderTest({
      brokers: 2,
      config: { bind: { host: '0.0.0.0', port: 0 }, advertise: 'gw.example.com' },
    });
    const client = await test.connect();
    const { brokers } = readMetadata(await client.call(API.metadata, 9, true, metadataBody(9, null)), 9);
    expect(brokers).toEqual([1, 2].map((id) => ({ id, host: 'gw.example.com', port: test?.portOf(id) })));
  });

  it.each(['0.0.0.0', '::', ''])('a wildcard advertised (%j) is refused at start', async (advertise) => {
    await expect(startUnderTest({ config: { advertise } })).rejects.toThrow('advertise');
  });

  it('a broker that joins beyond the mapped ids is told once and never shown', async () => {
    const notices: GatewayNotice[] = [];
    const stop = gatewayNotice.subscribe((notice) => notices.push(notice));
    try {
      test = await startUnderTest({
        brokers: [1, 4],
        topics: [{ name: 'orders', partitions: 2 }],
        config: { brokerPorts: new Map([[1, 0]]) },
      });
      const client = await test.connect();
      for (let round = 0; round < 2; round += 1) {
        const { brokers, topics } = readMetadata(
          await client.call(API.metadata, 9, true, metadataBody(9, null)),
          9,
        );
        expect(brokers.map(({ id }) => id)).toEqual([1]);
        expect(topics[0]?.partitions).toEqual([
          { code: 0, index: 0, leader: 1 },
          { code: 5, index: 1, leader: -1 },
        ]);
      }
      expect(notices.filter(({ message }) => message.includes('broker 4 has no port'))).toHaveLength(1);
    } finally {
      stop();
    }
  });
});
