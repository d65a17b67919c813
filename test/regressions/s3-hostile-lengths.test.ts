import { afterEach, describe, expect, it } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody, produceBody } from '../fake-broker/support/requests.ts';
import { WireClient } from '../fake-broker/support/wire-client.ts';

// S3: a tiny request with a huge array length made brokers allocate gigabytes.
describe('S3 hostile lengths in what the gateway reads', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('every 4-byte window of a Produce set to 2^31-1, -2 and -1: closed or forwarded, never served wrong, no growth', async () => {
    test = await startUnderTest({ topics: ['orders'], config: { limits: { delayedCloseMs: 0 } } });
    const frame = WireClient.encode(
      API.produce,
      8,
      false,
      1,
      produceBody(8, [{ topic: 'orders', partitions: [{ index: 0, records: plainBatch(1) }] }]),
    );
    const before = process.memoryUsage().arrayBuffers;
    for (let at = 12; at < 60; at += 2) {
      for (const value of [0x7fffffff, -2, -1]) {
        const bytes = Buffer.from(frame);
        bytes.writeInt32BE(value, at);
        const client = await test.connect(1);
        client.socket.end(bytes);
        await client.closed;
      }
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    const good = await test.connect(1);
    await good.call(API.metadata, 9, true, metadataBody(9, null));
  });
});
