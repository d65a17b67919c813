import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FrameCutter } from '../../../harness/frame-cutter.ts';
import { FrameProxy } from '../../../harness/frame-proxy.ts';

const PRODUCE = 0;
const METADATA = 3;
const MARKERS = 27;

function request(apiKey: number, correlationId: number, body = 'body'): Buffer {
  const bytes = Buffer.alloc(12 + body.length);
  bytes.writeInt32BE(8 + body.length, 0);
  bytes.writeInt16BE(apiKey, 4);
  bytes.writeInt32BE(correlationId, 8);
  bytes.write(body, 12);
  return bytes;
}

/** Answers each request with its correlation id, but those whose body is `silent`; keeps what it was sent. */
class EchoBroker {
  readonly ids: number[] = [];
  readonly bytes: Buffer[] = [];
  readonly sockets: Socket[] = [];
  readonly server: Server;

  constructor() {
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      const cutter = new FrameCutter(8, (sized) => {
        this.ids.push(sized.readInt32BE(8));
        if (sized.toString('latin1', 12) === 'silent') return;
        const reply = Buffer.alloc(8);
        reply.writeInt32BE(4, 0);
        reply.writeInt32BE(sized.readInt32BE(8), 4);
        socket.write(reply);
      });
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        this.bytes.push(chunk);
        cutter.take(chunk);
      });
    });
  }
}

class Client {
  readonly socket: Socket;
  readonly replies: number[] = [];
  closed = false;

  constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const cutter = new FrameCutter(4, (sized) => this.replies.push(sized.readInt32BE(4)));
    this.socket.on('data', (chunk) => cutter.take(chunk));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
  }

  send(...frames: Buffer[]): void {
    for (const frame of frames) this.socket.write(frame);
  }
}

let broker: EchoBroker;
let proxy: FrameProxy;
let client: Client;

beforeEach(async () => {
  broker = new EchoBroker();
  broker.server.listen(0, '127.0.0.1');
  await once(broker.server, 'listening');
  const { port } = broker.server.address() as AddressInfo;
  proxy = await FrameProxy.listen([{ host: '127.0.0.1', port }]);
  client = new Client(proxy.ports[0] as number);
});

afterEach(async () => {
  client.socket.destroy();
  await proxy.close();
  for (const socket of broker.sockets) socket.destroy();
  broker.server.close();
});

describe('frame proxy', () => {
  it('hands on requests and replies in order, cut into whatever pieces they come', async () => {
    for (const byte of Buffer.concat([request(METADATA, 1), request(PRODUCE, 2)])) {
      client.socket.write(Buffer.of(byte));
    }
    client.send(request(PRODUCE, 3, 'x'.repeat(200_000)));
    await vi.waitFor(() => expect(client.replies).toEqual([1, 2, 3]));
    expect(proxy.seen.get(PRODUCE)).toBe(2);
  });

  it('holds the reply of the next request of a key, and what follows on the connection, until released', async () => {
    const waiting = proxy.holdReply(PRODUCE);
    client.send(request(METADATA, 1), request(PRODUCE, 2), request(METADATA, 3));
    const held = await waiting;
    expect(held.request).toMatchObject({ apiKey: PRODUCE, correlationId: 2, target: 0 });
    expect((await held.reply)?.readInt32BE(0)).toBe(2);
    await vi.waitFor(() => expect(broker.ids).toEqual([1, 2, 3]));
    await vi.waitFor(() => expect(client.replies).toEqual([1]));
    held.release();
    await vi.waitFor(() => expect(client.replies).toEqual([1, 2, 3]));
  });

  it('tells that a request is forwarded while the broker has not answered', async () => {
    const waiting = proxy.holdReply(MARKERS);
    client.send(request(MARKERS, 7, 'silent'));
    const held = await waiting;
    await vi.waitFor(() => expect(broker.ids).toEqual([7]));
    held.cut();
    expect(await held.reply).toBeNull();
    await vi.waitFor(() => expect(client.closed).toBe(true));
  });

  it('skips requests that have no reply', async () => {
    const waiting = proxy.holdReply(PRODUCE, { where: ({ correlationId }) => correlationId === 3 });
    client.send(
      request(PRODUCE, 1, 'silent'),
      request(METADATA, 2),
      request(PRODUCE, 3),
      request(METADATA, 4),
    );
    const held = await waiting;
    await held.reply;
    await vi.waitFor(() => expect(client.replies).toEqual([2]));
    held.release();
    await vi.waitFor(() => expect(client.replies).toEqual([2, 3, 4]));
  });

  it('takes a request that is to be held from one connection and leaves others alone', async () => {
    const waiting = proxy.holdRequest(PRODUCE);
    client.send(request(PRODUCE, 1), request(METADATA, 2));
    const held = await waiting;
    const other = new Client(proxy.ports[0] as number);
    other.send(request(PRODUCE, 9));
    await vi.waitFor(() => expect(other.replies).toEqual([9]));
    expect(broker.ids).toEqual([9]);
    await held.forward();
    await vi.waitFor(() => expect(client.replies).toEqual([1, 2]));
    other.socket.destroy();
  });

  it('cuts within a request: the broker has its first bytes and no more', async () => {
    const waiting = proxy.holdRequest(PRODUCE);
    client.send(request(PRODUCE, 1, 'twenty bytes of body'));
    (await waiting).cut(10);
    await vi.waitFor(() => expect(client.closed).toBe(true));
    await vi.waitFor(() => expect(Buffer.concat(broker.bytes).length).toBe(10));
    expect(broker.ids).toEqual([]);
  });

  it('lets a forwarded request reach the broker though the client is gone', async () => {
    const waiting = proxy.holdReply(PRODUCE);
    client.send(request(PRODUCE, 1, 'y'.repeat(3_000_000)));
    const held = await waiting;
    client.socket.destroy();
    await vi.waitFor(() => expect(broker.ids).toEqual([1]));
    held.release();
    await vi.waitFor(() => expect(proxy.connections).toBe(0));
  });

  it('cuts all connections and serves new ones', async () => {
    client.send(request(METADATA, 1));
    await vi.waitFor(() => expect(client.replies).toEqual([1]));
    proxy.cutAll();
    await vi.waitFor(() => expect(client.closed).toBe(true));
    const next = new Client(proxy.ports[0] as number);
    next.send(request(METADATA, 2));
    await vi.waitFor(() => expect(next.replies).toEqual([2]));
    next.socket.destroy();
  });

  it('delays in both directions without changing the order', async () => {
    proxy.requestDelayMs = 20;
    proxy.replyDelayMs = 20;
    const begun = performance.now();
    client.send(request(METADATA, 1), request(PRODUCE, 2), request(METADATA, 3));
    await vi.waitFor(() => expect(client.replies).toEqual([1, 2, 3]));
    expect(performance.now() - begun).toBeGreaterThan(35);
  });

  it('gives up a wait that finds nothing, and holds nothing later', async () => {
    await expect(proxy.holdReply(PRODUCE, { timeoutMs: 1 })).rejects.toThrow(
      'in vain until a request of key 0',
    );
    await expect(proxy.holdReply(PRODUCE, { signal: AbortSignal.abort() })).rejects.toThrow('given up');
    client.send(request(PRODUCE, 1));
    await vi.waitFor(() => expect(client.replies).toEqual([1]));
  });

  it('ends a connection that does not speak in frames', async () => {
    client.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    await vi.waitFor(() => expect(client.closed).toBe(true));
  });
});
