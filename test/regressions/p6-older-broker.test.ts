import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, readApiVersions } from '../fake-broker/support/requests.ts';

// P6: a fixed version list made clients use versions that the broker behind refuses.
describe('P6 the broker is older than our schemas', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('the offered versions follow the broker actually behind', async () => {
    test = await startUnderTest({
      versions: {
        [API.produce]: [0, 9],
        [API.fetch]: [0, 13],
        [API.metadata]: [0, 12],
        [API.describeCluster]: [0, 0],
        [API.deleteTopics]: null,
      },
    });
    const client = await test.connect();
    const { ranges } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(ranges.get(API.produce)).toEqual([0, 9]);
    expect(ranges.get(API.fetch)).toEqual([0, 13]);
    expect(ranges.get(API.metadata)).toEqual([0, 12]);
    expect(ranges.get(API.describeCluster)).toEqual([0, 0]);
    expect(ranges.has(API.deleteTopics)).toBe(false);
  });

  it('an old client that asks in version 0 is answered in version 0', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    const { ranges, code } = readApiVersions(await client.call(API.apiVersions, 0, false, () => undefined));
    expect(code).toBe(0);
    expect(ranges.get(API.metadata)).toEqual([0, 13]);
  });
});
