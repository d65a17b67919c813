import { afterEach, describe, expect, it } from 'vitest';
import { lookupTopicIds } from '../../src/gateway/topic-lookup.ts';
import type { RequestInfo } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API } from '../fake-broker/support/requests.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';

const COPY_ID = 'Y29weWNvcHljb3B5Y29weQ';
const ORDERS_ID = 'b3JkZXJzb3JkZXJzb3JkZQ';
const METADATA_BY_ID = 12;

const isLookup = ({ apiVersion, clientId }: RequestInfo): boolean =>
  apiVersion === METADATA_BY_ID && clientId !== 'test';

// DeleteTopics 6 by id: while the name behind the id could not be asked for, the request went to the broker, which
// deleted the mirror topic. And one broker that fell silent kept every later question waiting.
describe('Topic ids whose names can not be told', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const deleteByIds = async (ids: readonly string[]): Promise<{ id: string; code: number }[]> => {
    const client = await test.connect(1);
    const input = await client.call(API.deleteTopics, 6, true, (out) => {
      out.list(ids, (id) => void out.str(null).uuid(id).tags());
      out.i32(1_000).tags();
    });
    input.i32();
    return input.list(() => {
      input.nstr();
      const answer = { id: input.uuid(), code: input.i16() };
      input.nstr();
      input.tags();
      return answer;
    });
  };

  it('DeleteTopics of an id whose lookup fails deletes nothing; once it can be asked the reason is told', async () => {
    test = await startUnderTest({
      topics: [{ name: 'copy', topicId: COPY_ID }],
      view: new StubView().mirrored('copy'),
    });
    test.fake.next(API.metadata, { kind: 'fail', code: 29 }, { when: isLookup });
    expect(await deleteByIds([COPY_ID])).toEqual([{ id: COPY_ID, code: 100 }]);
    expect(test.fake.requestsOf(API.deleteTopics)).toEqual([]);
    expect(test.fake.state.topics.has('copy')).toBe(true);
    await expect.poll(() => deleteByIds([COPY_ID])).toEqual([{ id: COPY_ID, code: 44 }]);
  });

  it('an id that nobody knows is refused and the rest is not attempted', async () => {
    test = await startUnderTest({
      topics: [{ name: 'orders', topicId: ORDERS_ID }],
    });
    expect(await deleteByIds([ORDERS_ID, COPY_ID])).toEqual([
      { id: ORDERS_ID, code: 55 },
      { id: COPY_ID, code: 100 },
    ]);
    expect(test.fake.state.topics.has('orders')).toBe(true);
  });

  it('a broker that is silent to the question is left, the next one is asked elsewhere', async () => {
    test = await startUnderTest({ topics: [{ name: 'copy', topicId: COPY_ID }] });
    const silent = test.fake.next(API.metadata, { kind: 'hold' }, { when: isLookup });
    await expect(lookupTopicIds(test.cluster, [COPY_ID], 50)).rejects.toThrow('not answered');
    expect(await lookupTopicIds(test.cluster, [COPY_ID], 10_000)).toEqual(new Map([[COPY_ID, 'copy']]));
    silent.release();
  });
});
