import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, readApiVersions } from '../fake-broker/support/requests.ts';

// P3: the broker answers an ApiVersions version that it does not know in version 0 form; a proxy re-encoded it.
describe('P3 a client opens with an ApiVersions version that is not known', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('by the broker: its error 35 passes in version 0 form, and the client goes on lower', async () => {
    test = await startUnderTest({ versions: { [API.apiVersions]: [0, 3] } });
    const client = await test.connect();
    const input = await client.call(API.apiVersions, 4, true, apiVersionsBody());
    input.flex = false;
    const refused = readApiVersions(input);
    expect(refused.code).toBe(35);
    expect(refused.ranges).toEqual(new Map([[API.apiVersions, [0, 3]]]));
    expect(input.at).toBe(input.buf.length);
    const lower = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(lower.code).toBe(0);
  });

  it('by us: answered in version 0 form with our range, and the connection stays', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    const input = await client.call(API.apiVersions, 9, true, (out) => void out.i32(-1));
    input.flex = false;
    const refused = readApiVersions(input);
    expect(refused.code).toBe(35);
    expect(refused.ranges).toEqual(new Map([[API.apiVersions, [0, 5]]]));
    expect(readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody())).code).toBe(0);
    expect(test.fake.requestsOf(API.apiVersions).map(({ apiVersion }) => apiVersion)).not.toContain(9);
  });
});
