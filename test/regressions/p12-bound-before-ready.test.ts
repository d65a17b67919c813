import { connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, readMetadata } from '../fake-broker/support/requests.ts';

// P12: after a restart broker ports were bound only when somebody fetched metadata; running clients could not return.
describe('P12 clients that hold only broker addresses', () => {
  let test: UnderTest | null = null;
  afterEach(async () => {
    await test?.close();
    test = null;
  });

  it('every broker port answers before anyone asked for metadata', async () => {
    test = await startUnderTest({ brokers: 3, topics: [{ name: 'orders', partitions: 3 }] });
    for (const node of [3, 2, 1]) {
      const client = await test.connect(node);
      const { brokers } = readMetadata(await client.call(API.metadata, 9, true, metadataBody(9, null)), 9);
      expect(brokers).toHaveLength(3);
    }
  });

  it('a broker port leads to its broker and to no other', async () => {
    test = await startUnderTest({ brokers: 3 });
    for (const node of [1, 2, 3]) {
      const client = await test.connect(node);
      await client.call(API.metadata, 9, true, metadataBody(9, null));
    }
    const seen = test.fake.requests.filter(({ clientId }) => clientId === 'test').map(({ node }) => node);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('when one port is taken, none is bound and the error names it', async () => {
    const other = createServer();
    const taken = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port));
    });
    const free = await new Promise<number>((resolve) => {
      const server = createServer();
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { port: number };
        server.close(() => resolve(port));
      });
    });
    try {
      const start = startUnderTest({
        brokers: 2,
        config: {
          brokerPorts: new Map([
            [1, free],
            [2, taken],
          ]),
        },
      });
      await expect(start).rejects.toThrow(String(taken));
      const refused = await new Promise<string>((resolve) => {
        connect({ port: free, host: '127.0.0.1' })
          .on('connect', () => resolve('connected'))
          .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
      });
      expect(refused).toBe('ECONNREFUSED');
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
  });
});
