import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody } from '../fake-broker/support/requests.ts';

const FAILURES = 12;
const LONGEST_MS = 400;

// S6: a client whose request always fails reconnected in a tight loop and ate the proxy.
describe('S6 an address whose connections only ever fail', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('waits longer each time, is counted by reason, and a served connection clears it', async () => {
    test = await startUnderTest({ topics: ['orders'], config: { limits: { delayedCloseMs: LONGEST_MS } } });
    const took: number[] = [];
    for (let n = 0; n < FAILURES; n += 1) {
      const begun = performance.now();
      const client = await test.connect(1);
      client.socket.write(Buffer.from('ffffffff00000000', 'hex'));
      await client.closed;
      took.push(performance.now() - begun);
    }
    expect(took[0]).toBeLessThan(LONGEST_MS / 2);
    expect(took.at(-1)).toBeGreaterThanOrEqual(LONGEST_MS - 5);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'bad-frame': FAILURES });

    const good = await test.connect(1);
    await good.call(API.metadata, 9, true, metadataBody(9, null));
    good.end();
    await expect.poll(() => test.gateway.snapshot().clients).toBe(0);
    const next = await test.connect(1);
    const begun = performance.now();
    await next.call(API.metadata, 9, true, metadataBody(9, null));
    expect(performance.now() - begun).toBeLessThan(LONGEST_MS / 2);
  });

  it('more connections from one address than allowed are closed at once, named', async () => {
    test = await startUnderTest({ config: { limits: { maxConnectionsPerAddress: 2 } } });
    const [first, second, third] = await Promise.all([test.connect(), test.connect(), test.connect()]);
    await Promise.race([first.closed, second.closed, third.closed]);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'too-many-connections': 1 });
    expect(test.gateway.snapshot().clients).toBe(2);
  });
});
