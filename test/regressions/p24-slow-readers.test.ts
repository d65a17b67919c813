import { afterEach, describe, expect, it } from 'vitest';
import { memoryBound } from '../../src/gateway/index.ts';
import { DEFAULT_LIMITS } from '../../src/gateway/config.ts';
import { makeBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';
import { API, fetchBody, metadataBody, produceBody, readFetch } from '../fake-broker/support/requests.ts';

const BATCH_BYTES = 1024 * 1024;
const READERS = 4;
const FETCHES = 24;

// P24: readers that stop reading made the proxy buffer without bound, or lose the connection.
describe('P24 clients that do not read what they asked for', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('hold back their own broker connection and nothing else, within the stated bound', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const batch = makeBatch({ records: [{ key: null, value: Buffer.alloc(BATCH_BYTES) }] });
    for (let n = 0; n < FETCHES; n += 1) test.fake.log('orders', 0).append(batch);
    const one = { maxBytes: 1 };
    const readers = await Promise.all(Array.from({ length: READERS }, () => test.connect(1)));
    for (const reader of readers) {
      reader.socket.pause();
      for (let n = 0; n < FETCHES; n += 1) {
        reader.post(API.fetch, 12, true, fetchBody(12, [{ topic: 'orders', index: 0, offset: n }], one));
      }
    }
    await expect.poll(() => test.gateway.snapshot().holds['broker:client-slow'] ?? 0).toBe(READERS);

    const other = await test.connect(1);
    await other.call(
      API.produce,
      9,
      true,
      produceBody(9, [{ topic: 'orders', partitions: [{ index: 0, records: batch }] }]),
    );
    const { bytesHeld } = test.gateway.snapshot();
    expect(bytesHeld).toBeGreaterThan(READERS * BATCH_BYTES);
    expect(bytesHeld).toBeLessThan(memoryBound(READERS, DEFAULT_LIMITS, 4096, BATCH_BYTES + 4096));

    for (const reader of readers) reader.socket.resume();
    await expect.poll(() => readers.map(({ answers }) => answers.length)).toEqual(readers.map(() => FETCHES));
    const last = readers[0]?.answers.at(-1)?.input;
    if (last === undefined) throw new Error('no answer');
    last.flex = true;
    last.tags();
    expect(readFetch(last, 12).partitions[0]?.records).toHaveLength(batch.length);
  });

  it('a broker that does not read makes the client wait, and no request is lost', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    const held = test.fake.next(API.metadata, { kind: 'hold' });
    client.post(API.metadata, 9, true, metadataBody(9, null));
    await held.met;
    const batch = makeBatch({ records: [{ key: null, value: Buffer.alloc(BATCH_BYTES) }] });
    const count = 40;
    for (let n = 0; n < count; n += 1) {
      client.post(
        API.produce,
        9,
        true,
        produceBody(9, [{ topic: 'orders', partitions: [{ index: 0, records: batch }] }]),
      );
    }
    held.release();
    await expect.poll(() => client.answers.length).toBe(count + 1);
    expect(test.fake.log('orders', 0).end).toBe(count);
  });

  it('more unanswered requests than the limit wait unread instead of costing the connection', async () => {
    test = await startUnderTest({ topics: ['orders'], config: { limits: { maxInFlight: 10 } } });
    const client = await test.connect(1);
    const held = test.fake.next(API.metadata, { kind: 'hold' });
    const ids = Array.from({ length: 200 }, () => client.post(API.metadata, 9, true, metadataBody(9, null)));
    await held.met;
    await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:in-flight': 1 });
    expect(test.gateway.snapshot().forwarded).toBe(10);
    held.release();
    await client.answerTo(ids.at(-1) ?? 0);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(ids);
  });

  it('refusals of ours behind a slow answer are bounded too: large ones stop the reading early', async () => {
    test = await startUnderTest({ topics: ['orders', 'copy'], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    const held = test.fake.next(API.metadata, { kind: 'hold' });
    const first = client.post(API.metadata, 9, true, metadataBody(9, null));
    const partitions = Array.from({ length: 1_000 }, (_, index) => ({ index, records: null }));
    const refused = produceBody(9, [{ topic: 'copy', partitions }]);
    const ids = Array.from({ length: 60 }, () => client.post(API.produce, 9, true, refused));
    await held.met;
    await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:in-flight': 1 });
    const { answeredHere, bytesHeld } = test.gateway.snapshot();
    expect(answeredHere).toBeLessThan(ids.length);
    expect(bytesHeld).toBeLessThan(memoryBound(1, DEFAULT_LIMITS, 16 * 1024, 4096, 256 * 1024));
    held.release();
    await client.answerTo(ids.at(-1) ?? 0);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([first, ...ids]);
  });
});
