import { afterEach, describe, expect, it } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, produceBody } from '../fake-broker/support/requests.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';
import { WireClient } from '../fake-broker/support/wire-client.ts';

const PRODUCES = 100_000;
const PER_METADATA = 500;

// P8: Produce with acks=0 has no response; proxies that waited for one filled their in-flight table.
describe('P8 Produce with acks=0', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('100,000 of them mixed with Metadata on one connection: nothing waits and the order holds', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    const records = plainBatch(1);
    const produce = WireClient.encode(
      API.produce,
      9,
      true,
      7,
      produceBody(9, [{ topic: 'orders', partitions: [{ index: 0, records }] }], { acks: 0 }),
    );
    const burst = Buffer.concat(Array.from({ length: PER_METADATA }, () => produce));
    const ids: number[] = [];
    for (let sent = 0; sent < PRODUCES; sent += PER_METADATA) {
      if (!client.socket.write(burst)) await new Promise((resolve) => client.socket.once('drain', resolve));
      ids.push(client.post(API.metadata, 9, true, metadataBody(9, ['orders'])));
    }
    await client.answerTo(ids.at(-1) ?? 0);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(ids);
    expect(test.fake.log('orders', 0).end).toBe(PRODUCES);
  });

  it('to a read-only partition: earlier answers leave, then the connection closes, and the log stays', async () => {
    test = await startUnderTest({ topics: ['copy'], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    const before = client.post(API.metadata, 9, true, metadataBody(9, null));
    client.post(
      API.produce,
      9,
      true,
      produceBody(9, [{ topic: 'copy', partitions: [{ index: 0, records: plainBatch(1) }] }], { acks: 0 }),
    );
    await client.closed;
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([before]);
    expect(test.fake.log('copy', 0).end).toBe(0);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'request-refused': 1 });
  });

  // closing a socket with bytes unread resets it, and the reset drops the answers that the client has not read yet
  it('to a read-only partition, with much pipelined behind it: a client that reads late gets all earlier answers', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `a-topic-with-a-rather-long-name-${index}`);
    test = await startUnderTest({ topics: ['copy', ...names], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    client.socket.pause();
    const question = () => client.post(API.metadata, 9, true, metadataBody(9, null));
    const before = Array.from({ length: 20 }, question);
    const partitions = [{ index: 0, records: plainBatch(1) }];
    client.post(API.produce, 9, true, produceBody(9, [{ topic: 'copy', partitions }], { acks: 0 }));
    for (let behind = 0; behind < 20_000; behind += 1) question();
    await expect
      .poll(() => {
        const { holds, closes, bytesHeld } = test.gateway.snapshot();
        const asked = test.fake.requests.filter(({ clientId }) => clientId === 'test').length;
        const refused = 'client:closing' in holds || 'request-refused' in closes;
        return refused && bytesHeld === 0 ? asked : 0;
      })
      .toBe(before.length);
    client.socket.resume();
    await client.closed;
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(before);
  });

  it('to a read-only and an ordinary partition: the ordinary one is written, as a broker does', async () => {
    test = await startUnderTest({ topics: ['copy', 'orders'], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    const entry = (topic: string) => ({ topic, partitions: [{ index: 0, records: plainBatch(2) }] });
    client.post(API.produce, 9, true, produceBody(9, [entry('copy'), entry('orders')], { acks: 0 }));
    await client.closed;
    await expect.poll(() => test.fake.log('orders', 0).end).toBe(2);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('refused by the broker: its close reaches the client', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    client.post(
      API.produce,
      9,
      true,
      produceBody(9, [{ topic: 'no-such', partitions: [{ index: 0, records: plainBatch(1) }] }], { acks: 0 }),
    );
    await client.closed;
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'upstream-closed': 1 });
  });
});
