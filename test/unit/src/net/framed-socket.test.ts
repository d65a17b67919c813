import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { FramedSocket, type FramedHandlers } from '../../../../src/net/framed-socket.ts';
import { BindError, type Listener, type ListenerLimits, listen } from '../../../../src/net/listener.ts';

const LIMITS: ListenerLimits = { maxFrameBytes: 1 << 20, maxConnectionsPerAddress: 0, idleTimeoutMs: 0 };
const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Recorder extends FramedHandlers {
  frames: Buffer[];
  closed: { cause: string; detail: string } | null;
  drains: number;
}

function recorder(onFrame?: (frame: Buffer) => void): Recorder {
  const it: Recorder = {
    frames: [],
    closed: null,
    drains: 0,
    onFrame(frame) {
      it.frames.push(frame);
      onFrame?.(frame);
    },
    onDrain() {
      it.drains += 1;
    },
    onClosed(cause, detail) {
      it.closed = { cause, detail };
    },
  };
  return it;
}

interface Served {
  listener: Listener;
  port: number;
  peers: { peer: FramedSocket; seen: Recorder }[];
  refused: string[];
}

async function serve(limits: Partial<ListenerLimits> = {}): Promise<Served> {
  const served: Served = { listener: undefined as never, port: 0, peers: [], refused: [] };
  served.listener = await listen(
    [{ host: '127.0.0.1', port: 0, label: 'test' }],
    { ...LIMITS, ...limits },
    {
      onConnection(peer) {
        const seen = recorder();
        served.peers.push({ peer, seen });
        return seen;
      },
      onRefused: (address) => served.refused.push(address),
    },
  );
  served.port = served.listener.bound[0]?.port as number;
  cleanups.push(() => served.listener.close());
  return served;
}

function client(
  port: number,
  seen: FramedHandlers,
  extra: { cap?: number; timeout?: number } = {},
): FramedSocket {
  const socket = FramedSocket.connect(
    {
      host: '127.0.0.1',
      port,
      connectTimeoutMs: extra.timeout ?? 5_000,
      frameCapBytes: extra.cap ?? 1 << 26,
      smallestFrame: 4,
    },
    seen,
  );
  cleanups.push(() => socket.end('local-close'));
  return socket;
}

function frame(body: string | Buffer): Uint8Array[] {
  const bytes = Buffer.from(body as string);
  const size = Buffer.alloc(4);
  size.writeInt32BE(bytes.length);
  return [size, bytes];
}

function raw(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  cleanups.push(() => {
    socket.destroy();
  });
  return socket;
}

async function rawServer(
  onSocket: (socket: Socket) => void,
  options: { allowHalfOpen?: boolean } = {},
): Promise<number> {
  const server: Server = createServer(options, (socket) => {
    socket.on('error', () => undefined);
    cleanups.push(() => {
      socket.destroy();
    });
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as { port: number }).port;
}

describe('a framed connection', () => {
  test('frames written before the connection stands arrive in order', async () => {
    const served = await serve();
    const socket = client(served.port, recorder());
    for (let i = 0; i < 5; i += 1) socket.write(frame(`request ${i}`));
    await vi.waitFor(() => expect(served.peers[0]?.seen.frames).toHaveLength(5));
    expect(served.peers[0]?.seen.frames.map(String)).toEqual([0, 1, 2, 3, 4].map((i) => `request ${i}`));
  });

  test('a large answer comes as one buffer, byte for byte', async () => {
    const served = await serve();
    const seen = recorder();
    const socket = client(served.port, seen);
    socket.write(frame('question'));
    await vi.waitFor(() => expect(served.peers[0]?.seen.frames).toHaveLength(1));
    const big = Buffer.alloc(9_000_000);
    for (let i = 0; i < big.length; i += 4) big.writeUInt32BE((i * 2654435761) >>> 0, i);
    served.peers[0]?.peer.write(frame('small'));
    served.peers[0]?.peer.write(frame(big));
    served.peers[0]?.peer.write(frame('after'));
    await vi.waitFor(() => expect(seen.frames).toHaveLength(3));
    expect(seen.frames[0]?.toString()).toBe('small');
    expect(Buffer.compare(seen.frames[1] as Buffer, big)).toBe(0);
    expect(seen.frames[2]?.toString()).toBe('after');
  });

  test('bytes that trickle in one by one make the same frame', async () => {
    const served = await serve();
    const socket = raw(served.port);
    socket.setNoDelay(true);
    const bytes = Buffer.concat(frame('one by one'));
    for (const byte of bytes) {
      await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
    }
    await vi.waitFor(() => expect(served.peers[0]?.seen.frames.map(String)).toEqual(['one by one']));
  });

  test('a paused reader holds back the writer, and goes on without loss', async () => {
    const served = await serve();
    const seen = recorder();
    const socket = client(served.port, seen);
    socket.write(frame('hello___'));
    await vi.waitFor(() => expect(served.peers).toHaveLength(1));
    socket.pauseReading();
    const peer = served.peers[0]?.peer as FramedSocket;
    const body = Buffer.alloc(64 * 1024, 5);
    let written = 0;
    while (!peer.writableNeedDrain || peer.bytesToWrite < 4_000_000) {
      peer.write(frame(body));
      written += 1;
      if (written % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(seen.frames).toHaveLength(0);
    socket.resumeReading();
    await vi.waitFor(() => expect(seen.frames).toHaveLength(written));
    expect(served.peers[0]?.seen.drains).toBeGreaterThan(0);
  });

  test('pausing inside a frame keeps back the next one of the same segment', async () => {
    const port = await rawServer((socket) => {
      socket.write(Buffer.concat([...frame('one_'), ...frame('two_'), ...frame('three')]));
    });
    const seen: Recorder = recorder(() => socket.pauseReading());
    const socket = client(port, seen);
    await vi.waitFor(() => expect(seen.frames).toHaveLength(1));
    socket.resumeReading();
    expect(seen.frames).toHaveLength(2);
    socket.resumeReading();
    expect(seen.frames.map(String)).toEqual(['one_', 'two_', 'three']);
  });

  test('peer-closed: the other side ends', async () => {
    const port = await rawServer((socket) => socket.end());
    const seen = recorder();
    client(port, seen);
    await vi.waitFor(() => expect(seen.closed).toEqual({ cause: 'peer-closed', detail: '' }));
  });

  test('peer-closed in the middle of a frame says so', async () => {
    const port = await rawServer((socket) => socket.end(Buffer.from([0, 0, 0, 9, 1])));
    const seen = recorder();
    client(port, seen);
    await vi.waitFor(() =>
      expect(seen.closed).toEqual({ cause: 'peer-closed', detail: 'in the middle of a frame' }),
    );
  });

  test('socket-error: the other side resets', async () => {
    const port = await rawServer((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    const seen = recorder();
    client(port, seen).write(frame('question'));
    await vi.waitFor(() => expect(seen.closed?.cause).toBe('socket-error:ECONNRESET'));
  });

  test('connect-failed: nobody listens', async () => {
    const port = await rawServer(() => undefined);
    await cleanups.pop()?.();
    const seen = recorder();
    client(port, seen);
    await vi.waitFor(() => expect(seen.closed?.cause).toBe('connect-failed'));
    expect(seen.closed?.detail).toMatch(/ECONNREFUSED/);
  });

  test('connect-timeout: an address that swallows everything', async () => {
    const seen = recorder();
    // TEST-NET-1 is routed nowhere; where it is refused at once, the cause is connect-failed
    const socket = FramedSocket.connect(
      { host: '192.0.2.1', port: 9, connectTimeoutMs: 50, frameCapBytes: 100, smallestFrame: 4 },
      seen,
    );
    cleanups.push(() => socket.end('local-close'));
    await vi.waitFor(() => expect(seen.closed?.cause).toMatch(/^connect-(timeout|failed)$/));
  });

  test('local-close is told once, and nothing is delivered behind it', async () => {
    const served = await serve();
    const seen = recorder();
    const socket = client(served.port, seen);
    socket.end('local-close', 'enough');
    socket.end('shutdown');
    await vi.waitFor(() => expect(seen.closed).toEqual({ cause: 'local-close', detail: 'enough' }));
    expect(socket.state).toBe('closed');
    expect(socket.write(frame('late'))).toBe(false);
  });

  test('endAfterWrites sends what was written first', async () => {
    const served = await serve();
    const seen = recorder();
    client(served.port, seen).write(frame('question'));
    await vi.waitFor(() => expect(served.peers[0]?.seen.frames).toHaveLength(1));
    served.peers[0]?.peer.write(frame('last words'));
    served.peers[0]?.peer.endAfterWrites('request-refused', 'why');
    await vi.waitFor(() => expect(seen.closed?.cause).toBe('peer-closed'));
    expect(seen.frames.map(String)).toEqual(['last words']);
    const end = { cause: 'request-refused', detail: 'why' };
    await vi.waitFor(() => expect(served.peers[0]?.seen.closed).toEqual(end));
  });

  test('internal-error: a fault of ours ends the connection, not the process', async () => {
    const served = await serve();
    const seen = recorder(() => {
      throw new Error('a bug');
    });
    client(served.port, seen).write(frame('question'));
    await vi.waitFor(() => expect(served.peers).toHaveLength(1));
    served.peers[0]?.peer.write(frame('answer'));
    await vi.waitFor(() => expect(seen.closed?.cause).toBe('internal-error'));
    expect(seen.closed?.detail).toMatch(/a bug/);
  });

  test.each([
    ['waits for the peer, reading and dropping what comes', true],
    ['does not, where nothing hangs on the peer', false],
  ])('endAfterWrites %s', async (_, forPeer) => {
    const received = Promise.withResolvers<void>();
    let end: () => void = () => undefined;
    const port = await rawServer(
      (socket) => {
        socket.on('data', () => socket.write(Buffer.concat(frame('unread'))));
        socket.once('end', () => received.resolve());
        end = () => void socket.end();
      },
      { allowHalfOpen: true },
    );
    const seen = recorder();
    const socket = client(port, seen);
    socket.write(frame('question'));
    socket.pauseReading();
    await vi.waitFor(() => expect(socket.state).toBe('open'));
    socket.endAfterWrites('local-close', 'the client went', 60_000, forPeer);
    await received.promise;
    if (forPeer) {
      expect(socket.state).toBe('closing');
      end();
    }
    await vi.waitFor(() => expect(seen.closed).toEqual({ cause: 'local-close', detail: 'the client went' }));
    expect(seen.frames).toEqual([]);
  });

  test('idle-timeout: nothing was received for too long', async () => {
    const served = await serve({ idleTimeoutMs: 30 });
    const seen = recorder();
    client(served.port, seen);
    await vi.waitFor(() => expect(served.peers[0]?.seen.closed?.cause).toBe('idle-timeout'));
  });
});

describe('a connection that is not read', () => {
  // An end of the peer is not seen while nothing is read: with a broker that takes nothing, each client that gave up
  // and came again left a connection behind.
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Waits for the first connection while the clock stands still, which vi.waitFor would move. */
  async function accepted(served: Served): Promise<void> {
    while (served.peers.length === 0) await turn();
  }

  test('is kept for longer than a short idle time, and given up after ten minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const served = await serve({ idleTimeoutMs: 1_000 });
    const gone = raw(served.port);
    await accepted(served);
    served.peers[0]?.peer.pauseReading();
    gone.end(Buffer.from([0, 0, 0, 8]));
    vi.advanceTimersByTime(599_000);
    expect(served.peers[0]?.seen.closed).toBeNull();
    vi.advanceTimersByTime(2_000);
    await vi.waitFor(() => expect(served.peers[0]?.seen.closed?.cause).toBe('idle-timeout'));
    expect(served.peers[0]?.seen.closed?.detail).toContain('held back for 600 s');
  });

  test('counts from anew when it is read again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const served = await serve({ idleTimeoutMs: 1_000_000 });
    raw(served.port);
    await accepted(served);
    const [one] = served.peers;
    one?.peer.pauseReading();
    vi.advanceTimersByTime(900_000);
    one?.peer.resumeReading();
    vi.advanceTimersByTime(900_000);
    expect(one?.seen.closed).toBeNull();
    vi.advanceTimersByTime(200_000);
    await vi.waitFor(() => expect(one?.seen.closed?.detail).toContain('nothing was received for 1000000 ms'));
  });
});

describe('hostile and mistaken peers', () => {
  test.each([
    ['oversize-frame', Buffer.from([0x7f, 0xff, 0xff, 0xff, 0])],
    ['oversize-frame', Buffer.from([0x00, 0x10, 0x00, 0x01])],
    ['bad-frame', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['bad-frame', Buffer.from([0, 0, 0, 7, 1, 2, 3])],
    ['tls-bytes', Buffer.from('16030100c8010000c40303', 'hex')],
    ['http-bytes', Buffer.from('GET /metrics HTTP/1.1\r\n\r\n')],
  ])('%s closes the client connection before anything is allocated', async (cause, bytes) => {
    const served = await serve();
    const socket = raw(served.port);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    const before = process.memoryUsage().arrayBuffers;
    socket.write(bytes);
    await gone;
    await vi.waitFor(() => expect(served.peers[0]?.seen.closed?.cause).toBe(cause));
    expect(served.peers[0]?.seen.frames).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  test('a broker port that answers with a TLS alert is named', async () => {
    const port = await rawServer((socket) => {
      socket.write(Buffer.from('15030100020246', 'hex'));
    });
    const seen = recorder();
    client(port, seen);
    await vi.waitFor(() => expect(seen.closed?.cause).toBe('tls-bytes'));
    expect(seen.closed?.detail).toMatch(/TLS record \(alert\)/);
  });

  test('a frame of the cap that never arrives costs no memory', async () => {
    const served = await serve({ maxFrameBytes: 256 * 1024 * 1024 });
    const socket = raw(served.port);
    const before = process.memoryUsage().rss;
    socket.write(Buffer.from([0x10, 0x00, 0x00, 0x00, 0, 0, 0, 1]));
    await vi.waitFor(() => expect(served.peers[0]?.peer.bytesBuffered).toBe(4));
    expect(process.memoryUsage().rss - before).toBeLessThan(16 * 1024 * 1024);
  });
});

describe('a listener', () => {
  test('binds all or nothing and names every port that failed', async () => {
    const served = await serve();
    const hooks = { onConnection: () => recorder() };
    const wish = [
      { host: '127.0.0.1', port: 0, label: 'free' },
      { host: '127.0.0.1', port: served.port, label: 'west bootstrap' },
    ];
    await expect(listen(wish, LIMITS, hooks)).rejects.toThrow(BindError);
    await expect(listen(wish, LIMITS, hooks)).rejects.toThrow(
      new RegExp(`west bootstrap 127\\.0\\.0\\.1:${served.port}: the port is in use`),
    );
    const named = { host: '192.0.2.1', port: 1, label: '7', name: 'gateway west broker port of node 7' };
    await expect(listen([named], LIMITS, hooks)).rejects.toThrow(
      'nothing was bound: gateway west broker port of node 7 192.0.2.1:1: this machine has no such address',
    );
  });

  test('tells a reason that many ports share once, and the first of them', async () => {
    const port = (at: number) => ({ host: '192.0.2.1', port: at, label: `port ${at}` });
    const hooks = { onConnection: () => recorder() };
    await expect(listen([1, 2, 3, 4].map(port), LIMITS, hooks)).rejects.toThrow(
      'nothing was bound: port 1 192.0.2.1:1, port 2 192.0.2.1:2, port 3 192.0.2.1:3, port 4 192.0.2.1:4: this machine has no such address',
    );
    const served = await serve();
    const taken = { host: '127.0.0.1', port: served.port, label: 'west' };
    await expect(listen([...[1, 2, 3, 4, 5].map(port), taken], LIMITS, hooks)).rejects.toThrow(
      `port 3 192.0.2.1:3 and 2 more: this machine has no such address; west 127.0.0.1:${served.port}: the port is in use`,
    );
  });

  test('limits connections per address and serves again when one leaves', async () => {
    const served = await serve({ maxConnectionsPerAddress: 2 });
    const first = raw(served.port);
    raw(served.port);
    await vi.waitFor(() => expect(served.peers).toHaveLength(2));
    const third = raw(served.port);
    await new Promise((resolve) => third.once('close', resolve));
    expect(served.refused).toEqual(['127.0.0.1']);
    first.destroy();
    await vi.waitFor(() => expect(served.listener.connections).toBe(1));
    raw(served.port);
    await vi.waitFor(() => expect(served.peers).toHaveLength(3));
  });

  test('close ends every connection as shutdown', async () => {
    const served = await serve();
    raw(served.port);
    await vi.waitFor(() => expect(served.peers).toHaveLength(1));
    await served.listener.close();
    expect(served.peers[0]?.seen.closed?.cause).toBe('shutdown');
    expect(served.listener.connections).toBe(0);
  });
});
