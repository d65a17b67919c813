import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { encodeResponse } from '../../protocol/frame/messages.ts';
import { parseRequestHeader } from '../../protocol/frame/headers.ts';
import { apiVersionsApi } from '../../protocol/schema/18-api-versions.ts';
import { BrokerConnection } from '../../src/net/connection.ts';
import { FramedSocket } from '../../src/net/framed-socket.ts';

/**
 * C13 (KAFKA-19012): a pooled buffer was filled anew while the old request was still being sent, so records landed in
 * another partition (the CRC does not cover topic and partition). Our rule: a chunk belongs to the connection until
 * `onReply`, and is never read afterwards, whatever ended it.
 */
const PAYLOAD = 512 * 1024;
const HEADER = 18;
const REQUESTS = 120;

function lcg(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

test('buffers refilled at onReply never show in an older request, over random disconnects', async () => {
  // a generator for each question, so that the answers do not depend on who asks first
  const served = lcg(13);
  const delay = lcg(31);
  const mixed: string[] = [];
  let whole = 0;
  let cut = 0;
  const peers = new Set<FramedSocket>();
  const server = createServer((socket: Socket) => {
    // every peer serves a few requests, then reads no more and vanishes while one is half sent
    let left = Math.floor(served() * 6);
    const peer = FramedSocket.accept(
      socket,
      { frameCapBytes: 1 << 24, smallestFrame: 8 },
      {
        onFrame(frame) {
          const { apiKey, apiVersion, correlationId } = parseRequestHeader(frame);
          if (apiKey === 18) {
            peer.write([encodeResponse(apiVersionsApi, apiVersion, correlationId, { apiKeys: [] })]);
            if (left === 0) setImmediate(() => stallThenEnd(peer));
            return;
          }
          whole += 1;
          const tag = frame.readInt32BE(HEADER - 4 - 4);
          const payload = frame.subarray(HEADER - 4);
          if (!payload.every((byte) => byte === (tag & 0xff))) mixed.push(`request ${tag}`);
          const answer = Buffer.alloc(8);
          answer.writeInt32BE(4, 0);
          answer.writeInt32BE(correlationId, 4);
          peer.write([answer]);
          left -= 1;
          if (left === 0) setImmediate(() => stallThenEnd(peer));
        },
        onClosed: () => peers.delete(peer),
      },
    );
    peers.add(peer);
  });
  function stallThenEnd(peer: FramedSocket): void {
    peer.pauseReading();
    setTimeout(() => peer.end('shutdown'), 1 + delay() * 8);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = (server.address() as { port: number }).port;

  const head = (): Buffer => {
    const bytes = Buffer.alloc(HEADER);
    bytes.writeInt16BE(0x2222, 4);
    bytes.writeInt16BE(-1, 12);
    return bytes;
  };
  // two lanes share a pool of four payload buffers, each filled anew as soon as its request is over
  let next = 1;
  async function lane(pool: Buffer[]): Promise<void> {
    let connection: BrokerConnection | null = null;
    while (next <= REQUESTS) {
      if (connection === null || !connection.isOpen) {
        connection = await BrokerConnection.connect({ host: '127.0.0.1', port, clientId: 'c13' }).catch(
          () => null,
        );
        continue;
      }
      const open: BrokerConnection = connection;
      await Promise.all(
        pool.map((payload) => {
          const tag = next++;
          payload.fill(tag & 0xff);
          const header = head();
          header.writeInt32BE(tag, HEADER - 4);
          return new Promise<void>((resolve) => {
            open.sendRaw([header, payload], true, (error) => {
              if (error !== null) cut += 1;
              payload.fill(0xee);
              resolve();
            });
          });
        }),
      );
    }
    connection?.end();
  }
  const pool = Array.from({ length: 4 }, () => Buffer.alloc(PAYLOAD));
  await Promise.all([lane(pool.slice(0, 2)), lane(pool.slice(2))]);
  for (const peer of peers) peer.end('shutdown');
  await new Promise<void>((resolve) => server.close(() => resolve()));

  expect(mixed).toEqual([]);
  expect(whole).toBeGreaterThan(20);
  expect(cut).toBeGreaterThan(5);
});
