import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, produceBody, readMetadata } from '../fake-broker/support/requests.ts';
import { plainBatch } from '../fake-broker/index.ts';

// A broker came back at another address and its old one became another broker's. The gateway's port for it went on
// leading to the old address, where every write is answered "not the leader", for as long as the gateway ran.
describe('a broker that is at another address now, while its old one leads to another broker', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const moveTwoToOne = (): void => {
    const [one, two] = test.fake.state.nodes;
    if (one === undefined || two === undefined) throw new Error('two brokers are needed');
    two.port = one.port;
  };
  const metadata = metadataBody(9, null);

  it('connections to where it was are given up, and new ones lead to where it is', async () => {
    test = await startUnderTest({ brokers: 2, topics: ['orders'] });
    const old = await test.connect(2);
    await old.call(API.metadata, 9, true, metadata);
    expect(test.fake.requestsOf(API.metadata).at(-1)?.node).toBe(2);
    moveTwoToOne();
    const seen = readMetadata(await old.call(API.metadata, 9, true, metadata), 9);
    expect(seen.brokers).toContainEqual({ id: 2, host: '127.0.0.1', port: test.portOf(2) });
    await old.closed;
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'upstream-closed': 1 });
    const again = await test.connect(2);
    await again.call(API.metadata, 9, true, metadata);
    expect(test.fake.requestsOf(API.metadata).at(-1)?.node).toBe(1);
  });

  it('a connection through the bootstrap port stays: any broker will do there', async () => {
    test = await startUnderTest({ brokers: 2, topics: ['orders'] });
    const clients = [await test.connect(), await test.connect()];
    for (const client of clients) await client.call(API.metadata, 9, true, metadata);
    moveTwoToOne();
    for (const client of clients) await client.call(API.metadata, 9, true, metadata);
    const pinned = await test.connect(2);
    await pinned.call(API.metadata, 9, true, metadata);
    for (const client of clients) await client.call(API.metadata, 9, true, metadata);
    expect(test.gateway.snapshot().clients).toBe(3);
  });

  it('a copier whose append is on its way is left alone: its outcome must be heard', async () => {
    test = await startUnderTest({
      brokers: 2,
      topics: ['copy'],
      config: { role: 'mirror', mirror: 'east-to-west' },
    });
    test.view.mirrored('copy');
    const copier = await test.connect(1);
    const slow = test.fake.next(API.produce, { kind: 'hold' });
    const partitions = [{ index: 0, records: plainBatch(1) }];
    const id = copier.post(API.produce, 9, true, produceBody(9, [{ topic: 'copy', partitions }]));
    await slow.met;
    const [one, two] = test.fake.state.nodes;
    if (one === undefined || two === undefined) throw new Error('two brokers are needed');
    const before = one.port;
    one.port = two.port;
    const other = await test.connect(2);
    const asked = test.fake.requestsOf(API.metadata).length;
    await other.call(API.metadata, 9, true, metadata);
    await expect.poll(() => test.fake.requestsOf(API.metadata).length).toBeGreaterThan(asked + 1);
    slow.release();
    await copier.answerTo(id);
    one.port = before;
    expect(test.mirrorRole.failures).toEqual([]);
    expect(test.mirrorRole.appends).toEqual(['east-to-west copy/0 0+1']);
  });
});
