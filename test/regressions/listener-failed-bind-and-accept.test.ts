import net, { createServer, type Server } from 'node:net';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, describe, expect, it } from 'vitest';
import type { FramedHandlers } from '../../src/net/framed-socket.ts';
import { BindError, listen } from '../../src/net/listener.ts';

const LIMITS = { maxFrameBytes: 1_000, maxConnectionsPerAddress: 0, idleTimeoutMs: 0 };
const nobody: FramedHandlers = { onFrame: () => undefined, onClosed: () => undefined };
const request = (port: number, label: string) => ({ host: '127.0.0.1', port, label });

// A client that connected to a port which was bound already kept the failed start waiting for its end, for ever; and a
// second failed accept (no descriptors left) had no listener and ended the process.
describe('A listener whose bind fails, or whose accept fails', () => {
  const undo: (() => void)[] = [];
  afterEach(() => {
    for (const step of undo.splice(0)) step();
  });

  /** The next servers that are made, whoever makes them. */
  const spyOnServers = (made: (server: Server) => void): void => {
    const original = net.createServer;
    net.createServer = ((...args: Parameters<typeof createServer>) => {
      const server = original(...args);
      made(server);
      return server;
    }) as typeof createServer;
    syncBuiltinESMExports();
    undo.push(() => {
      net.createServer = original;
      syncBuiltinESMExports();
    });
  };

  it('a client that came through a bound port does not keep the failure from being told', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    undo.push(() => taken.close());
    const address = taken.address();
    const takenPort = address !== null && typeof address === 'object' ? address.port : 0;
    const connected = Promise.withResolvers<void>();
    // the second bind begins when a client has come through the first port
    spyOnServers((server) => {
      const bind = server.listen.bind(server);
      server.listen = ((options: { port: number }, onBound: () => void) => {
        if (options.port === takenPort) void connected.promise.then(() => bind(options, onBound));
        else {
          bind(options, () => {
            onBound();
            const found = server.address();
            const port = found !== null && typeof found === 'object' ? found.port : 0;
            const client = net.connect(port, '127.0.0.1');
            client.on('error', () => undefined);
            undo.push(() => client.destroy());
          });
        }
        return server;
      }) as Server['listen'];
    });
    const ended: string[] = [];
    const started = listen([request(0, 'bootstrap'), request(takenPort, '1')], LIMITS, {
      onConnection: () => {
        connected.resolve();
        return { ...nobody, onClosed: (cause) => void ended.push(cause) };
      },
    });
    await expect(started).rejects.toBeInstanceOf(BindError);
    await expect.poll(() => ended).toEqual(['shutdown']);
  });

  it('a failed accept is told each time and ends nothing', async () => {
    const servers: Server[] = [];
    spyOnServers((server) => void servers.push(server));
    const told: string[] = [];
    const listener = await listen([request(0, 'bootstrap')], LIMITS, {
      onConnection: () => nobody,
      onAcceptFailed: (error, { label }) => void told.push(`${label}: ${error.message}`),
    });
    for (let n = 0; n < 3; n += 1) servers[0]?.emit('error', new Error('accept EMFILE'));
    expect(told).toEqual(Array.from({ length: 3 }, () => 'bootstrap: accept EMFILE'));
    await listener.close();
  });
});
