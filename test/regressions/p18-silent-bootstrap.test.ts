import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { encodeResponse } from '../../protocol/frame/messages.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { brokerStub } from '../unit/src/net/broker-stub.ts';

/**
 * P18 (Kroxylicious 4327): N silent bootstrap addresses delayed the client by N connect time-outs. They must cost
 * little: the good one is reached within a client's own request time-out whatever stands before it.
 */
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function blackhole(): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return (server.address() as { port: number }).port;
}

test('three blackholed bootstrap addresses before a good one', async () => {
  const silent = [await blackhole(), await blackhole(), await blackhole()];
  const good = await brokerStub({
    onRequest(request, { peer }, self) {
      if (request.apiKey !== 3) return false;
      const body = {
        brokers: [{ nodeId: 7, host: '127.0.0.1', port: self.port }],
        clusterId: 'good',
        controllerId: 7,
        topics: [],
      };
      peer.write([encodeResponse(metadataApi, request.apiVersion, request.correlationId, body)]);
      return true;
    },
  });
  cleanups.push(() => good.close());
  const servers = [...silent, good.port].map((port) => `127.0.0.1:${port}`).join(',');
  const cluster = new Cluster({
    name: 'east',
    properties: { 'bootstrap.servers': servers, 'socket.connection.setup.timeout.ms': '30000' },
  });
  cleanups.push(() => cluster.close());
  const began = performance.now();
  expect(await cluster.connect()).toBe('good');
  expect(performance.now() - began).toBeLessThan(10_000);
});
