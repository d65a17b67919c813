import { afterEach, describe, expect, it } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import {
  API,
  apiVersionsBody,
  metadataBody,
  produceBody,
  readProduce,
} from '../fake-broker/support/requests.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';

const LIST_MIRRORS = 98;

// P21: two responses on one connection left out of order, and clients dropped it on a correlation mismatch.
describe('P21 answers of ours between forwarded slow ones', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('leave in request order, with the ids as they came, also at the edges of int32', async () => {
    test = await startUnderTest({ topics: ['orders', 'copy'], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    const write = (topic: string) =>
      produceBody(9, [{ topic, partitions: [{ index: 0, records: plainBatch(1) }] }]);
    const slow = test.fake.next(API.metadata, { kind: 'hold' });
    const ids = [0x7fffffff, -0x80000000, 0x7ffffffe, 0, -1, 5, 5, 6];
    client.post(API.metadata, 9, true, metadataBody(9, null), ids[0]);
    client.post(API.produce, 9, true, write('copy'), ids[1]);
    client.post(API.apiVersions, 9, true, apiVersionsBody(), ids[2]);
    client.post(API.produce, 9, true, write('orders'), ids[3]);
    client.post(API.produce, 9, true, write('copy'), ids[4]);
    client.post(API.metadata, 9, true, metadataBody(9, ['orders']), ids[5]);
    client.post(API.metadata, 9, true, metadataBody(9, ['orders']), ids[6]);
    client.post(API.apiVersions, 3, true, apiVersionsBody(), ids[7]);
    await slow.met;
    expect(client.answers).toEqual([]);
    slow.release();
    await client.answerTo(6);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual(ids);
  });

  it('a verb that takes long holds what was sent behind it, and the caller-rights questions pass between', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    const gate = Promise.withResolvers<void>();
    const rights: number[] = [];
    test.verbs.answer = async ({ rights: caller }) => {
      rights.push(await caller.cluster());
      await gate.promise;
      rights.push((await caller.topics(['orders', 'no-such'])).size);
      return { mirrors: [] };
    };
    const before = client.post(API.metadata, 9, true, metadataBody(9, null));
    const verb = client.post(LIST_MIRRORS, 0, true, (out) => void out.bool(false).tags());
    const after = client.post(API.metadata, 9, true, metadataBody(9, null));
    await client.answerTo(before);
    await expect.poll(() => rights).toEqual([0x7ffe]);
    gate.resolve();
    await client.answerTo(after);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([before, verb, after]);
    expect(rights).toEqual([0x7ffe, 1]);
    expect(test.fake.requestsOf(LIST_MIRRORS)).toEqual([]);
  });

  it('a merged Produce keeps its turn', async () => {
    test = await startUnderTest({ topics: ['orders', 'copy'], view: new StubView().mirrored('copy') });
    const client = await test.connect(1);
    const slow = test.fake.next(API.produce, { kind: 'hold' });
    const entry = (topic: string) => ({ topic, partitions: [{ index: 0, records: plainBatch(1) }] });
    const first = client.post(API.produce, 9, true, produceBody(9, [entry('copy'), entry('orders')]));
    const second = client.post(API.metadata, 9, true, metadataBody(9, null));
    await slow.met;
    slow.release();
    const merged = await client.answerTo(first);
    await client.answerTo(second);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([first, second]);
    merged.input.flex = true;
    merged.input.tags();
    expect(readProduce(merged.input, 9)).toMatchObject([
      { topic: 'copy', code: 44 },
      { topic: 'orders', code: 0, base: 0 },
    ]);
  });
});
