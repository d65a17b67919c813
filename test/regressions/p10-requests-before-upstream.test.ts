import { afterEach, describe, expect, it } from 'vitest';
import { Cluster } from '../../src/net/cluster.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, metadataBody } from '../fake-broker/support/requests.ts';
import { WireClient } from '../fake-broker/support/wire-client.ts';

// P10: two requests that came while the upstream was still connecting threw an exception.
describe('P10 requests arrive while the upstream connects', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const segment = (): { bytes: Buffer; ids: number[] } => ({
    bytes: Buffer.concat([
      WireClient.encode(API.apiVersions, 3, true, 11, apiVersionsBody()),
      WireClient.encode(API.apiVersions, 3, true, 12, apiVersionsBody()),
      WireClient.encode(API.metadata, 9, true, 13, metadataBody(9, null)),
    ]),
    ids: [11, 12, 13],
  });

  it('two ApiVersions and a Metadata in one segment on a fresh connection are all answered in order', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect();
    const { bytes, ids } = segment();
    client.socket.write(bytes);
    await client.answerTo(13);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(ids);
  });

  it('they wait while the broker is away, and are answered once an address works', async () => {
    test = await startUnderTest({ brokers: 2, topics: ['orders'] });
    await test.fake.stopNode(1);
    const clients = await Promise.all([test.connect(), test.connect()]);
    const { bytes, ids } = segment();
    for (const client of clients) client.socket.write(bytes);
    for (const client of clients) {
      await client.answerTo(13);
      expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(ids);
    }
  });

  it('when no broker answers, the connection closes with a name instead of showing a partial cluster', async () => {
    test = await startUnderTest({ brokers: 2 });
    await test.fake.stopNode(1);
    await test.fake.stopNode(2);
    const client = await test.connect();
    client.socket.write(segment().bytes);
    await client.closed;
    expect(client.answers).toEqual([]);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'upstream-connect-failed': 1 });
  });

  it('a cluster that is reached only later serves then', async () => {
    test = await startUnderTest({ brokers: 1, topics: ['orders'] });
    const fresh = new Cluster({ name: 'west', properties: { 'bootstrap.servers': test.fake.bootstrap } });
    expect(fresh.brokers()).toEqual([]);
    await fresh.close();
    const client = await test.connect(1);
    client.socket.write(segment().bytes);
    await client.answerTo(13);
  });
});
