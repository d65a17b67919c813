import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, metadataBody } from '../fake-broker/support/requests.ts';

const LONGEST_MS = 400;
const DELAYS_MS = [0, 0, 0, 0, 0, 0, 100, 200, 400, 400, 400, 400];

// S6: a client whose request always fails reconnected in a tight loop and ate the proxy.
describe('S6 an address whose connections only ever fail', () => {
  let test: UnderTest;
  afterEach(async () => {
    vi.useRealTimers();
    await test.close();
  });

  it('waits longer each time, is counted by reason, and a served connection clears it', async () => {
    test = await startUnderTest({ topics: ['orders'], config: { limits: { delayedCloseMs: LONGEST_MS } } });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (const [n, delayMs] of DELAYS_MS.entries()) {
      const client = await test.connect(1);
      let open = true;
      void client.closed.then(() => {
        open = false;
      });
      client.socket.write(Buffer.from('ffffffff00000000', 'hex'));
      // where there is no delay it is closed while the clock stands still
      if (delayMs === 0) await client.closed;
      let passed = 0;
      for (; open; passed += 1) {
        vi.advanceTimersByTime(1);
        await turn();
      }
      expect(passed).toBeGreaterThanOrEqual(delayMs);
      // the client sees its end a moment before the gateway counts it
      while (test.gateway.snapshot().closes['bad-frame'] !== n + 1) await turn();
    }
    expect(test.gateway.snapshot().closes).toEqual({ 'bad-frame': DELAYS_MS.length });

    const good = await test.connect(1);
    const served = good.call(API.metadata, 9, true, metadataBody(9, null));
    vi.advanceTimersByTime(LONGEST_MS);
    await served;
    good.end();
    while (test.gateway.snapshot().clients > 0) await turn();
    // served while the clock stands still
    const next = await test.connect(1);
    await next.call(API.metadata, 9, true, metadataBody(9, null));
  });

  it('more connections from one address than allowed are closed at once, named', async () => {
    test = await startUnderTest({ config: { limits: { maxConnectionsPerAddress: 2 } } });
    const [first, second, third] = await Promise.all([test.connect(), test.connect(), test.connect()]);
    await Promise.race([first.closed, second.closed, third.closed]);
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'too-many-connections': 1 });
    expect(test.gateway.snapshot().clients).toBe(2);
  });
});
