import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody } from '../fake-broker/support/requests.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';

const MIB = 1024 * 1024;

/** A request frame with its size: header of version 2, `before`, then `bytes` of repeated `entry`. */
function flood(
  key: number,
  version: number,
  headerTags: Buffer,
  before: Buffer,
  entry: Buffer,
  bytes: number,
) {
  const head = Buffer.alloc(10);
  head.writeInt16BE(key, 0);
  head.writeInt16BE(version, 2);
  head.writeInt32BE(1, 4);
  head.writeInt16BE(-1, 8);
  const body = Buffer.concat([head, headerTags, before, Buffer.alloc(bytes, entry)]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

function uvarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Tagged fields 0, 1, 2 ... without bytes. */
function tags(count: number): Buffer {
  const all = [uvarint(count)];
  for (let tag = 0; tag < count; tag += 1) all.push(uvarint(tag), Buffer.from([0]));
  return Buffer.concat(all);
}

const none = Buffer.from([0]);
const name = Buffer.from('copy');
const compactName = Buffer.concat([Buffer.from([5]), name]);

// S3 once more: each length is honest, but every two bytes are an entry, and an entry becomes an object or three. One
// request of the permitted 100 MiB took gigabytes and ended the process.
describe('S3 requests of very many very small entries', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it.each([
    [
      'Produce of millions of partitions of a mirror topic',
      () => {
        const count = 2 * MIB;
        const body = Buffer.concat([
          Buffer.from([0, 0xff, 0xff, 0, 0, 0x75, 0x30, 2]),
          compactName,
          uvarint(count + 1),
        ]);
        const entry = Buffer.from([0, 0, 0, 0, 0, 0]);
        return flood(API.produce, 9, none, body, entry, count * 6 + 2);
      },
    ],
    [
      'Produce of millions of topics without a partition',
      () => {
        const count = 2 * MIB;
        const body = Buffer.concat([Buffer.from([0, 0xff, 0xff, 0, 0, 0x75, 0x30]), uvarint(count + 1)]);
        return flood(API.produce, 9, none, body, Buffer.from([2, 0x61, 1, 0]), count * 4 + 1);
      },
    ],
    [
      'DeleteTopics of millions of empty names',
      () => {
        const count = 8 * MIB;
        return flood(API.deleteTopics, 5, none, uvarint(count + 1), Buffer.from([1]), count + 5);
      },
    ],
    [
      'AddPartitionsToTxn of millions of partitions',
      () => {
        const count = 4 * MIB;
        const body = Buffer.concat([
          Buffer.from([2, 0x74, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 2]),
          compactName,
          uvarint(count + 1),
        ]);
        return flood(API.addPartitionsToTxn, 3, none, body, Buffer.from([0, 0, 0, 0]), count * 4 + 2);
      },
    ],
    ['a header of a million tagged fields', () => flood(API.produce, 9, tags(MIB), none, none, 1)],
    [
      'ApiVersions with many tagged fields',
      () => flood(API.apiVersions, 3, none, Buffer.concat([Buffer.from([1, 1]), tags(150_000)]), none, 0),
    ],
  ])('%s: closed by its name, little is allocated, others are served', async (_, make) => {
    test = await startUnderTest({ topics: ['copy'], view: new StubView().mirrored('copy') });
    const frame = make();
    const client = await test.connect(1);
    const before = process.memoryUsage().heapUsed;
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().heapUsed)), 1);
    client.socket.write(frame);
    await client.closed;
    clearInterval(watch);
    most = Math.max(most, process.memoryUsage().heapUsed);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'bad-frame': 1 });
    expect(client.answers).toEqual([]);
    expect((most - before) / MIB).toBeLessThan(64);
    const good = await test.connect(1);
    await good.call(API.metadata, 9, true, metadataBody(9, null));
  });
});
