import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { connectionClosed, type ConnectionClosed } from '../../src/observe/channels.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';

const TLS_CLIENT_HELLO = Buffer.from('16030100f1010000ed0303', 'hex');
const TLS_ALERT = Buffer.from('15030300020228', 'hex');

// P23: TLS and plain text mixed up show as absurd frame sizes, and memory is asked for accordingly.
describe('P23 what is no Kafka frame', () => {
  let test: UnderTest;
  let ends: ConnectionClosed[] = [];
  let stop: () => void = () => undefined;
  let server: Server | null = null;
  afterEach(async () => {
    stop();
    await test.close();
    await new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
    server = null;
  });

  const watched = async (): Promise<void> => {
    test = await startUnderTest({ brokers: 1 });
    ends = [];
    stop = connectionClosed.subscribe((end) => {
      if (end.owner === 'gw') ends.push(end);
    });
  };

  it.each([
    ['a TLS client hello', TLS_CLIENT_HELLO, 'tls-bytes', 'TLS record'],
    ['an HTTP request', Buffer.from('GET /metrics HTTP/1.1\r\n\r\n'), 'http-bytes', 'HTTP'],
    ['a frame above the cap', Buffer.from('7fffffff00000000', 'hex'), 'oversize-frame', 'cap'],
    ['a negative size', Buffer.from('ffffffff00000000', 'hex'), 'bad-frame', '-1'],
    ['a size of zero', Buffer.from('0000000000000000', 'hex'), 'bad-frame', '0'],
  ])('%s from a client closes it quickly, named', async (_, bytes, cause, text) => {
    await watched();
    const client = await test.connect(1);
    client.socket.write(bytes);
    await client.closed;
    await expect.poll(() => ends.find(({ side }) => side === 'client')?.cause).toBe(cause);
    expect(ends.find(({ side }) => side === 'client')?.detail).toContain(text);
  });

  it('a TLS alert from the broker ends both sides, named on the upstream side', async () => {
    await watched();
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(TLS_ALERT));
    });
    const listening = server;
    const port = await new Promise<number>((resolve) => {
      listening.listen(0, '127.0.0.1', () => resolve((listening.address() as { port: number }).port));
    });
    const [node] = test.fake.state.nodes;
    if (node !== undefined) node.port = port;
    await test.cluster.refresh([]);
    const client = await test.connect(1);
    client.post(
      3,
      9,
      true,
      (out) =>
        void out
          .list(null, () => undefined)
          .bool(false)
          .bool(false)
          .bool(false)
          .tags(),
    );
    await client.closed;
    await expect.poll(() => ends.find(({ side }) => side === 'upstream')?.cause).toBe('tls-bytes');
    await expect.poll(() => ends.find(({ side }) => side === 'client')?.cause).toBe('upstream-closed');
  });
});
