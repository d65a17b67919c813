import { afterEach, describe, expect, it } from 'vitest';
import { gatewayRefused, type GatewayRefused } from '../../src/observe/channels.ts';
import { type Out, plainBatch } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import { API, metadataBody, produceBody, readMetadata, readProduce } from './support/requests.ts';
import { StubView } from './support/stub-control.ts';

const ID = { copy: 'Y29weWNvcHljb3B5Y29weQ', orders: 'b3JkZXJzb3JkZXJzb3JkZQ' };
const TOPICS = [
  { name: 'copy', partitions: 2, topicId: ID.copy },
  { name: 'orders', topicId: ID.orders },
  '__mirror_state',
];

const entry = (topic: string, ...indexes: number[]) => ({
  topic,
  partitions: indexes.map((index) => ({ index, records: plainBatch(2) })),
});

describe('Produce through a gateway', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const start = async (view: StubView, options = {}): Promise<void> => {
    test = await startUnderTest({ topics: TOPICS, view, ...options });
  };

  it.each([3, 5, 8, 9, 11, 12])(
    'version %i: only the partitions that are not stopped are refused, named with mirror and source',
    async (version) => {
      await start(new StubView().mirrored('copy', { stopped: [1] }));
      const client = await test.connect(1);
      const body = produceBody(version, [entry('copy', 0, 1), entry('orders', 0)]);
      const answers = readProduce(await client.call(API.produce, version, version >= 9, body), version);
      expect(answers).toMatchObject([
        { topic: 'copy', index: 0, code: 44, base: -1 },
        { topic: 'copy', index: 1, code: 0, base: 0 },
        { topic: 'orders', index: 0, code: 0, base: 0 },
      ]);
      if (version >= 8) {
        expect(answers[0]?.message).toMatch(
          /copy-0 .*mirror east-to-west of cluster east \(state MIRRORING\)/,
        );
      }
      expect([0, 1].map((index) => test.fake.log('copy', index).end)).toEqual([0, 2]);
    },
  );

  it('by topic id, learned from Metadata or looked up by the gateway itself', async () => {
    await start(new StubView().mirrored('copy'));
    for (const learns of [false, true]) {
      const client = await test.connect(1);
      if (learns) await client.call(API.metadata, 12, true, metadataBody(12, null));
      const body = produceBody(13, [entry(ID.copy, 0), entry(ID.orders, 0)]);
      expect(readProduce(await client.call(API.produce, 13, true, body), 13)).toMatchObject([
        { topic: ID.copy, code: 44 },
        { topic: ID.orders, code: 0 },
      ]);
    }
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('an id that no topic has is UNKNOWN_TOPIC_ID, the rest goes on', async () => {
    await start(new StubView());
    const client = await test.connect(1);
    const body = produceBody(13, [entry('bm9uZW5vbmVub25lbm9uZQ', 0), entry(ID.orders, 0)]);
    expect(readProduce(await client.call(API.produce, 13, true, body), 13)).toMatchObject([
      { code: 100 },
      { code: 0, base: 0 },
    ]);
  });

  it('KIP-1279 code 134 when configured', async () => {
    await start(new StubView().mirrored('copy'), { config: { readOnlyError: 'read-only-topic' } });
    const client = await test.connect(1);
    const body = produceBody(9, [entry('copy', 0)]);
    expect(readProduce(await client.call(API.produce, 9, true, body), 9)).toMatchObject([{ code: 134 }]);
  });

  it('the state topic is written by nobody', async () => {
    await start(new StubView());
    const client = await test.connect(1);
    const body = produceBody(9, [entry('__mirror_state', 0)]);
    expect(readProduce(await client.call(API.produce, 9, true, body), 9)).toMatchObject([{ code: 44 }]);
    expect(test.fake.log('__mirror_state', 0).end).toBe(0);
  });

  it('stale: topics with a mirror record get a retriable error, stopped ones included, others pass', async () => {
    await start(new StubView().mirrored('copy', { stopped: 'all' }));
    test.view.state = 'stale';
    const client = await test.connect(1);
    const body = produceBody(9, [entry('copy', 0), entry('orders', 0)]);
    expect(readProduce(await client.call(API.produce, 9, true, body), 9)).toMatchObject([
      { topic: 'copy', code: 6, base: -1 },
      { topic: 'orders', code: 0 },
    ]);
    test.view.state = 'fresh';
    expect(readProduce(await client.call(API.produce, 9, true, body), 9)).toMatchObject([
      { code: 0 },
      { code: 0 },
    ]);
  });

  it('before the first full read a Produce waits, and what is behind it on the connection too', async () => {
    const view = new StubView().mirrored('copy');
    view.state = 'loading';
    await start(view);
    const client = await test.connect(1);
    const other = await test.connect(1);
    const first = client.post(API.produce, 9, true, produceBody(9, [entry('copy', 0)]));
    const second = client.post(API.metadata, 9, true, metadataBody(9, null));
    await other.call(API.metadata, 9, true, metadataBody(9, null));
    await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:waiting': 1 });
    expect(client.answers).toEqual([]);
    view.load();
    await client.answerTo(second);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([first, second]);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('a refusal is published once, with who and why', async () => {
    await start(new StubView().mirrored('copy'));
    const seen: GatewayRefused[] = [];
    const stop = gatewayRefused.subscribe((message) => seen.push(message));
    const client = await test.connect(1);
    await client.call(API.produce, 9, true, produceBody(9, [entry('copy', 0, 1)]));
    stop();
    expect(seen).toMatchObject([
      { gateway: 'gw', clientId: 'test', api: 'Produce', error: 'POLICY_VIOLATION', topics: ['copy'] },
    ]);
  });
});

describe('AddPartitionsToTxn through a gateway', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  interface Result {
    name: string;
    index: number;
    code: number;
  }
  const body = (version: number, ...transactions: Record<string, number[]>[]): ((out: Out) => void) => {
    return (out) => {
      const topics = (list: Record<string, number[]>): void => {
        out.list(Object.entries(list), ([name, partitions]) => {
          out
            .str(name)
            .list(partitions, (index) => void out.i32(index))
            .tags();
        });
      };
      if (version >= 4) {
        out.list(transactions, (list) => {
          out.str('txn').i64(7).i16(0).bool(false);
          topics(list);
          out.tags();
        });
      } else {
        out.str('txn').i64(7).i16(0);
        topics(transactions[0] ?? {});
      }
      out.tags();
    };
  };
  const ask = async (version: number, ...transactions: Record<string, number[]>[]): Promise<Result[]> => {
    const client = await test.connect(1);
    const input = await client.call(
      API.addPartitionsToTxn,
      version,
      version >= 3,
      body(version, ...transactions),
    );
    const results: Result[] = [];
    const topics = (): void => {
      input.list(() => {
        const name = input.str();
        input.list(() => {
          results.push({ name, index: input.i32(), code: input.i16() });
          input.tags();
        });
        input.tags();
      });
    };
    input.i32();
    if (version >= 4) {
      input.i16();
      input.list(() => {
        input.str();
        topics();
        input.tags();
      });
    } else topics();
    return results;
  };

  it.each([0, 1, 2, 3, 4, 5])(
    'version %i: one read-only partition refuses it whole, and the coordinator learns nothing',
    async (version) => {
      test = await startUnderTest({
        topics: TOPICS,
        view: new StubView().mirrored('copy', { stopped: [1] }),
      });
      expect(await ask(version, { orders: [0], copy: [0, 1] })).toEqual([
        { name: 'orders', index: 0, code: 55 },
        { name: 'copy', index: 0, code: 29 },
        { name: 'copy', index: 1, code: 55 },
      ]);
      expect(test.fake.requestsOf(API.addPartitionsToTxn)).toEqual([]);
      expect(await ask(version, { orders: [0], copy: [1] })).toEqual([
        { name: 'orders', index: 0, code: 0 },
        { name: 'copy', index: 1, code: 0 },
      ]);
    },
  );

  it('many transactions in one request: all of it is refused', async () => {
    test = await startUnderTest({ topics: TOPICS, view: new StubView().mirrored('copy') });
    expect((await ask(4, { orders: [0] }, { copy: [0] })).map(({ code }) => code)).toEqual([55, 29]);
  });

  it('stale: an error that producers retry here', async () => {
    test = await startUnderTest({
      topics: TOPICS,
      view: new StubView().mirrored('copy', { stopped: 'all' }),
    });
    test.view.state = 'stale';
    expect((await ask(3, { copy: [0] })).map(({ code }) => code)).toEqual([14]);
    test.view.state = 'fresh';
    expect((await ask(3, { copy: [0] })).map(({ code }) => code)).toEqual([0]);
  });
});

describe('Metadata through a gateway', () => {
  it('shows mirror topics as ordinary ones: they are read', async () => {
    const test = await startUnderTest({ topics: TOPICS, view: new StubView().mirrored('copy') });
    const client = await test.connect();
    const { topics } = readMetadata(
      await client.call(API.metadata, 12, true, metadataBody(12, ['copy'])),
      12,
    );
    expect(topics).toMatchObject([{ code: 0, name: 'copy', topicId: ID.copy }]);
    await test.close();
  });
});
