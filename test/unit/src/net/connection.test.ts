import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { encodeResponse } from '../../../../protocol/frame/messages.ts';
import { metadataApi } from '../../../../protocol/schema/03-metadata.ts';
import { CallTimeoutError, ConnectionClosedError } from '../../../../src/net/close-cause.ts';
import { BrokerConnection, UnsupportedVersionError } from '../../../../src/net/connection.ts';
import { SOFTWARE_VERSION } from '../../../../src/net/software.ts';
import {
  type BrokerStub,
  brokerStub,
  plainAnswer,
  type StubRequest,
  type StubScript,
} from './broker-stub.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function stubbed(script: StubScript = {}): Promise<BrokerStub> {
  const stub = await brokerStub(script);
  cleanups.push(() => stub.close());
  return stub;
}

async function open(port: number, more: { frameCapBytes?: number; connectTimeoutMs?: number } = {}) {
  const connection = await BrokerConnection.connect({ host: '127.0.0.1', port, clientId: 'test', ...more });
  cleanups.push(() => connection.end());
  return connection;
}

/** A request with the hole that sendRaw fills. */
function rawRequest(...parts: Uint8Array[]): Uint8Array[] {
  const head = Buffer.alloc(14);
  head.writeInt16BE(0x2222, 4);
  head.writeInt16BE(0x0001, 6);
  head.writeInt16BE(-1, 12);
  return [head, ...parts];
}

const emptyMetadata = { brokers: [], clusterId: 'c', controllerId: 1, topics: [] };

function send(connection: BrokerConnection, expectReply = true, allocate?: (size: number) => Buffer) {
  return new Promise<Buffer | null>((resolve, reject) => {
    connection.sendRaw(
      rawRequest(),
      expectReply,
      (error, frame) => (error === null ? resolve(frame) : reject(error)),
      allocate,
    );
  });
}

describe('opening', () => {
  test('our version is the one of package.json', () => {
    const path = new URL('../../../../package.json', import.meta.url);
    expect(SOFTWARE_VERSION).toBe(JSON.parse(readFileSync(path, 'utf8')).version);
  });

  test('versions are learnt and the highest common one is chosen', async () => {
    const stub = await stubbed({ versions: [{ apiKey: 3, minVersion: 4, maxVersion: 9 }] });
    const connection = await open(stub.port);
    expect(connection.versions.get(3)).toEqual({ min: 4, max: 9 });
    expect(connection.commonVersion(metadataApi)).toBe(9);
    expect(connection.commonVersion(metadataApi, 7)).toBe(7);
    expect(connection.commonVersion(metadataApi, 3)).toBeNull();
    expect(stub.connections[0]?.requests[0]?.apiVersion).toBe(3);
  });

  test('a broker that knows only ApiVersions 0 to 2 is asked again', async () => {
    const stub = await stubbed({ apiVersionsMax: 2 });
    const connection = await open(stub.port);
    expect(stub.connections[0]?.requests.map((request) => request.apiVersion)).toEqual([3, 0]);
    expect(connection.versions.has(3)).toBe(true);
  });

  test('connect-failed: nobody listens', async () => {
    const stub = await stubbed();
    await stub.close();
    await expect(open(stub.port)).rejects.toMatchObject({ cause: 'connect-failed', sentBytes: false });
  });

  test('handshake-timeout: connected, but ApiVersions is never answered', async () => {
    const stub = await stubbed({ onRequest: () => true });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failed = open(stub.port, { connectTimeoutMs: 40 }).catch((error: unknown) => error);
    while (stub.connections[0]?.requests.length !== 1) await turn();
    vi.advanceTimersByTime(40);
    expect(await failed).toMatchObject({ cause: 'handshake-timeout' });
  });

  test('handshake-failed: the answer is rubbish', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        peer.write(plainAnswer(request.correlationId, Buffer.from([0, 0, 0x7f, 0xff, 0xff, 0xff])));
        return true;
      },
    });
    await expect(open(stub.port)).rejects.toThrow(/ApiVersions/);
    await vi.waitFor(() => expect(stub.connections[0]?.peer.state).toBe('closed'));
  });

  test('tls-bytes: the broker port speaks TLS', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      socket.end(Buffer.from('15030100020246', 'hex'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const port = (server.address() as { port: number }).port;
    await expect(open(port)).rejects.toThrow(/\(tls-bytes\): a TLS record \(alert\)/);
  });
});

describe('calls', () => {
  test('pipelined calls get their own answers', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 3) return false;
        peer.write([
          encodeResponse(metadataApi, request.apiVersion, request.correlationId, {
            ...emptyMetadata,
            controllerId: request.correlationId,
          }),
        ]);
        return true;
      },
    });
    const connection = await open(stub.port);
    const answers = await Promise.all([1, 2, 3].map(() => connection.call(metadataApi, { topics: null })));
    expect(answers.map((answer) => answer.controllerId)).toEqual([2, 3, 4]);
    expect(connection.pendingCount).toBe(0);
    expect(connection.oldestPendingSince).toBeNull();
  });

  test('no common version: both ranges are named', async () => {
    const stub = await stubbed({ versions: [] });
    const connection = await open(stub.port);
    await expect(connection.call(metadataApi, { topics: null })).rejects.toThrow(UnsupportedVersionError);
    await expect(connection.call(metadataApi, { topics: null })).rejects.toThrow(
      /Metadata: we need 0 to 13, .* does not know it/,
    );
  });

  test('a time-out gives up the answer, never the connection; the late answer is dropped', async () => {
    const held: StubRequest[] = [];
    const stub = await stubbed({
      onRequest(request) {
        if (request.apiKey !== 3) return false;
        held.push(request);
        return true;
      },
    });
    const connection = await open(stub.port);
    await expect(connection.call(metadataApi, { topics: null }, { timeoutMs: 20 })).rejects.toThrow(
      CallTimeoutError,
    );
    expect(connection.isOpen).toBe(true);
    expect(connection.oldestPendingSince).not.toBeNull();
    const second = connection.call(metadataApi, { topics: null });
    await vi.waitFor(() => expect(held).toHaveLength(2));
    for (const request of held) {
      stub.connections[0]?.peer.write([
        encodeResponse(metadataApi, request.apiVersion, request.correlationId, {
          ...emptyMetadata,
          controllerId: request.correlationId,
        }),
      ]);
    }
    expect((await second).controllerId).toBe(held[1]?.correlationId);
    expect(connection.pendingCount).toBe(0);
  });

  test('an answer that can not be read rejects its call and names the message', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 3) return false;
        peer.write(
          plainAnswer(request.correlationId, Buffer.from([0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        );
        return true;
      },
    });
    const connection = await open(stub.port);
    await expect(connection.call(metadataApi, { topics: null })).rejects.toThrow(
      /Metadata v13 answer of 127\.0\.0\.1/,
    );
  });
});

describe('raw requests', () => {
  const echo: StubScript = {
    onRequest(request, { peer }) {
      if (request.apiKey !== 0x2222) return false;
      peer.write(plainAnswer(request.correlationId, request.frame.subarray(10)));
      return true;
    },
  };

  test('size and correlation id are filled in, chunks are joined in order', async () => {
    const stub = await stubbed(echo);
    const connection = await open(stub.port);
    const big = Buffer.alloc(300_000, 3);
    const frame = await new Promise<Buffer>((resolve, reject) => {
      connection.sendRaw(rawRequest(Buffer.from('abc'), big, Buffer.from('xyz')), true, (error, answer) =>
        answer === null ? reject(error) : resolve(answer),
      );
    });
    expect(frame.subarray(4 - 2).length).toBeGreaterThan(300_000);
    expect(frame.subarray(frame.length - 3).toString()).toBe('xyz');
    expect(stub.connections[0]?.requests[1]?.frame.length).toBe(10 + 3 + big.length + 3);
  });

  test('the answer is read into the buffer that the caller gives', async () => {
    const stub = await stubbed(echo);
    const connection = await open(stub.port);
    const mine = Buffer.alloc(1000);
    const frame = await send(connection, true, (size) => mine.subarray(0, size));
    expect(frame?.buffer).toBe(mine.buffer);
  });

  test('a request without reply is told when its bytes have left, and the next answer is not taken for it', async () => {
    const stub = await stubbed({
      onRequest(request, { peer, requests }) {
        if (request.apiKey !== 0x2222) return false;
        if (requests.length === 3) peer.write(plainAnswer(request.correlationId));
        return true;
      },
    });
    const connection = await open(stub.port);
    expect(await send(connection, false)).toBeNull();
    expect((await send(connection))?.readInt32BE(0)).toBe(3);
  });

  test('peer-closed: requests that were written are reported as sent', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 0x2222) return false;
        peer.end('shutdown');
        return true;
      },
    });
    const connection = await open(stub.port);
    const both = await Promise.allSettled([send(connection), send(connection)]);
    for (const outcome of both) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { sentBytes: true } });
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(ConnectionClosedError);
    }
    expect(await connection.closed).toMatch(/peer-closed|ECONNRESET/);
    await expect(send(connection)).rejects.toMatchObject({ sentBytes: false });
  });

  test('a request queued behind bytes that never left is reported as not sent', async () => {
    const stub = await stubbed({
      onRequest(_request, { peer }) {
        queueMicrotask(() => peer.pauseReading());
        return false;
      },
    });
    const connection = await open(stub.port);
    const filler = new Promise<unknown>((resolve) => {
      connection.sendRaw(rawRequest(Buffer.alloc(64 * 1024 * 1024)), true, resolve);
    });
    const behind = send(connection).catch((error: unknown) => error);
    connection.end('local-close', 'enough');
    expect(await filler).toMatchObject({ cause: 'local-close', sentBytes: true });
    expect(await behind).toMatchObject({ cause: 'local-close', sentBytes: false });
  });

  test('correlation-mismatch: answers in the wrong order end the connection', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 0x2222) return false;
        peer.write(plainAnswer(request.correlationId + 1));
        return true;
      },
    });
    const connection = await open(stub.port);
    await expect(send(connection)).rejects.toMatchObject({ cause: 'correlation-mismatch' });
  });

  test('unasked-response: an answer without a request ends the connection', async () => {
    const stub = await stubbed();
    const connection = await open(stub.port);
    stub.connections[0]?.peer.write(plainAnswer(99));
    expect(await connection.closed).toBe('unasked-response');
  });

  test('oversize-frame: an answer above the cap ends the connection before memory is taken', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 0x2222) return false;
        peer.write([Buffer.from([0x40, 0, 0, 0, 0, 0, 0, 1])]);
        return true;
      },
    });
    const connection = await open(stub.port, { frameCapBytes: 100_000 });
    await expect(send(connection)).rejects.toMatchObject({ cause: 'oversize-frame' });
    expect(connection.closeDetail).toMatch(/1073741824 bytes.*cap is 100000/);
  });

  test('a silent broker is waited for: nothing closes by itself', async () => {
    const stub = await stubbed({ onRequest: (request) => request.apiKey === 0x2222 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    const connection = await open(stub.port, { connectTimeoutMs: 30 });
    let answered = false;
    void send(connection).then(
      () => {
        answered = true;
      },
      () => undefined,
    );
    vi.advanceTimersByTime(24 * 3_600_000);
    expect(connection.isOpen).toBe(true);
    expect(answered).toBe(false);
  });
});

test('a port that is no broker at all does not hang the test run', async () => {
  const stub = await stubbed();
  const socket = connect(stub.port, '127.0.0.1');
  cleanups.push(() => {
    socket.destroy();
  });
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
});
