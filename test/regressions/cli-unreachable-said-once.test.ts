import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Cluster } from '../../src/net/cluster.ts';
import { run } from '../unit/src/cli/fake-gateway.ts';

// An address that nobody listens on stood three times in one line, beside the word "cluster" for a gateway.
test('a gateway that is not there: its address once, then the cause', async () => {
  const address = '127.0.0.1:1';
  const { code, err } = await run(['mirror', 'list', '--bootstrap-server', address]);
  expect({ code, err }).toEqual({
    code: 1,
    err: `${address} can't be reached: connect-failed: connect ECONNREFUSED\n`,
  });
});

test.each([
  ['closed', (socket: Socket) => socket.resume().end()],
  ['reset', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy())],
])(
  'a gateway whose cluster is away and whose connections are %s, is told from one that is not there',
  async (_, end) => {
    const server = createServer((socket) => end(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, err } = await run(['mirror', 'list', '--bootstrap-server', address]);
    await new Promise((resolve) => server.close(resolve));
    expect(err).toMatch(
      new RegExp(
        `^${address} can't be reached: (peer-closed|socket-error:ECONNRESET.*) \\(.*its own cluster is out of reach`,
      ),
    );
    expect(code).toBe(1);
  },
);

test('dump of a cluster that is not there', async () => {
  const address = '127.0.0.1:1';
  const { code, err } = await run(['dump', '--bootstrap-server', address, '--topic', 't']);
  expect({ code, err }).toEqual({
    code: 1,
    err: `${address} can't be reached: connect-failed: connect ECONNREFUSED\n`,
  });
});

test('a cluster with a name: the name, then each address with its cause', async () => {
  const addresses = ['127.0.0.1:1', '127.0.0.1:2'];
  const east = new Cluster({ name: 'east', properties: { 'bootstrap.servers': addresses.join(',') } });
  await expect(east.connect()).rejects.toThrow(
    `cluster east can't be reached: ${addresses.map((one) => `${one}: connect-failed: connect ECONNREFUSED`).join('; ')}`,
  );
  await east.close();
});
