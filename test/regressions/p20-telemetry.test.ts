import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, readApiVersions } from '../fake-broker/support/requests.ts';

const GET_TELEMETRY_SUBSCRIPTIONS = 71;

// P20: Java clients 3.7+ logged errors on every poll when a proxy mistook the telemetry APIs.
describe('P20 client telemetry', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('is not offered when the broker has none', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    const { ranges } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(ranges.has(GET_TELEMETRY_SUBSCRIPTIONS)).toBe(false);
  });

  it('is offered when the broker has it, and passes unread', async () => {
    test = await startUnderTest({
      apis: {
        [GET_TELEMETRY_SUBSCRIPTIONS]: {
          versions: [0, 0],
          flexibleFrom: 0,
          handle: (input, output) => ({ body: output.raw(input.buf.subarray(input.at)) }),
        },
      },
    });
    const client = await test.connect();
    const { ranges } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(ranges.get(GET_TELEMETRY_SUBSCRIPTIONS)).toEqual([0, 0]);
    const answer = await client.call(
      GET_TELEMETRY_SUBSCRIPTIONS,
      0,
      true,
      (out) => void out.uuid('b3JkZXJzb3JkZXJzb3JkZQ'),
    );
    expect(answer.uuid()).toBe('b3JkZXJzb3JkZXJzb3JkZQ');
  });
});
