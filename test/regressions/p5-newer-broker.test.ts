import { afterEach, describe, expect, it } from 'vitest';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, metadataBody, readApiVersions } from '../fake-broker/support/requests.ts';

const LIST_GROUPS = 16;
const OF_THE_FUTURE = 108;

// P5: each Kafka release brought "unsupported schema version" and a cut connection.
describe('P5 the broker is newer than our schemas', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const newer = {
    versions: {
      [API.produce]: [0, 14] as const,
      [API.fetch]: [4, 19] as const,
      [API.metadata]: [0, 14] as const,
      [API.findCoordinator]: [0, 7] as const,
      [LIST_GROUPS]: [0, 9] as const,
      55: [0, 2] as const,
      76: [1, 1] as const,
      77: [1, 1] as const,
      78: [1, 2] as const,
      79: [1, 2] as const,
      [OF_THE_FUTURE]: [0, 3] as const,
    },
  };

  it('what must be rewritten is offered as far as we know it, the rest at any version', async () => {
    test = await startUnderTest(newer);
    const client = await test.connect();
    const { ranges } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(ranges.get(API.produce)).toEqual([0, 13]);
    expect(ranges.get(API.fetch)).toEqual([4, 18]);
    expect(ranges.get(API.metadata)).toEqual([0, 13]);
    expect(ranges.get(API.findCoordinator)).toEqual([0, 6]);
    expect(ranges.get(LIST_GROUPS)).toEqual([0, 9]);
    expect(ranges.get(55)).toEqual([0, 1]);
    expect(ranges.has(78)).toBe(false);
    expect(ranges.has(79)).toBe(false);
    // a share group that one may join and not read from is worse than none
    expect(ranges.has(76)).toBe(false);
    expect(ranges.get(77)).toEqual([1, 1]);
    expect(ranges.has(OF_THE_FUTURE)).toBe(false);
  });

  it('an API that we need not read passes at a version that nobody of us knows', async () => {
    test = await startUnderTest({
      ...newer,
      apis: {
        [LIST_GROUPS]: {
          versions: [0, 9],
          flexibleFrom: 3,
          handle: (input, output) => ({ body: output.raw(input.buf.subarray(input.at)) }),
        },
      },
    });
    const client = await test.connect();
    const answer = await client.call(
      LIST_GROUPS,
      9,
      true,
      (out) => void out.raw(Buffer.from('from the future')),
    );
    expect(answer.buf.subarray(answer.at).toString()).toBe('from the future');
  });

  it.each([
    ['a version above the offered one', API.metadata, 14],
    ['ShareFetch, whose addresses we can not rewrite', 78, 1],
    ['ShareGroupHeartbeat, whose members could not fetch', 76, 1],
    ['DescribeQuorum 2, which carries controller addresses', 55, 2],
  ])(
    '%s is refused as a broker does: the connection closes and nothing was forwarded',
    async (_, key, version) => {
      test = await startUnderTest(newer);
      const client = await test.connect();
      client.post(key, version, true, metadataBody(13, null));
      await client.closed;
      expect(
        test.fake.requests.filter((request) => request.apiKey === key && request.apiVersion === version),
      ).toEqual([]);
    },
  );
});
