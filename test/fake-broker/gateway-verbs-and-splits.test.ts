import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { plainBatch } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import {
  API,
  apiVersionsBody,
  metadataBody,
  produceBody,
  readApiVersions,
  readMetadata,
} from './support/requests.ts';
import { StubView } from './support/stub-control.ts';
import { WireClient } from './support/wire-client.ts';

describe('verbs through a gateway', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it('our own command is offered the private API, others are not', async () => {
    test = await startUnderTest();
    for (const [software, offered] of [
      ['isthmus', true],
      ['apache-kafka-java', false],
    ] as const) {
      const client = await test.connect();
      const { ranges } = readApiVersions(
        await client.call(API.apiVersions, 3, true, apiVersionsBody(software)),
      );
      expect([94, 95, 96, 98, 99, 104].every((key) => ranges.get(key)?.join() === '0,0')).toBe(true);
      expect(ranges.has(32_001)).toBe(offered);
    }
  });

  it('a key of ours that the broker announces with another meaning is ours all the same', async () => {
    test = await startUnderTest({ versions: { 94: [0, 3] } });
    const client = await test.connect();
    const { ranges } = readApiVersions(await client.call(API.apiVersions, 3, true, apiVersionsBody()));
    expect(ranges.get(94)).toEqual([0, 0]);
  });

  it('UnregisterController of Kafka 4.4, which has the same key, is told so and not taken for a verb', async () => {
    test = await startUnderTest({ versions: { 94: [0, 0] } });
    const client = await test.connect();
    const input = await client.call(94, 0, true, (out) => void out.i32(3_000).tags());
    input.i32();
    expect(input.i16()).toBe(35);
    expect(input.nstr()).toContain('UnregisterController');
    expect(test.verbs.calls).toEqual([]);
    expect(test.fake.requestsOf(94)).toEqual([]);
  });

  it('a verb waits while the state is not read, and is done then', async () => {
    test = await startUnderTest({ view: new StubView() });
    test.view.state = 'loading';
    const client = await test.connect();
    const id = client.post(32_001, 0, true, (out) => void out.str('{}').tags());
    await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:waiting': 1 });
    expect(test.verbs.calls).toEqual([]);
    test.view.load();
    await client.answerTo(id);
    expect(test.verbs.calls).toHaveLength(1);
  });

  it('a verb that waited a minute is answered with an error and not done later', async () => {
    test = await startUnderTest({ view: new StubView() });
    test.view.state = 'loading';
    const client = await test.connect();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const id = client.post(104, 0, true, (out) => void out.str('east-to-west').i64(-1).tags());
      await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:waiting': 1 });
      vi.advanceTimersByTime(60_000);
      const { input } = await client.answerTo(id);
      input.flex = true;
      input.tags();
      input.i32();
      expect(input.i16()).toBe(14);
      expect(input.nstr()).toContain('nothing was done');
    } finally {
      vi.useRealTimers();
    }
    test.view.load();
    await client.call(API.metadata, 9, true, metadataBody(9, null));
    expect(test.verbs.calls).toEqual([]);
  });

  it('a verb gets its decoded body and the rights of its caller, and its answer comes back', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    test.fake.state.clusterOperations = 0x0100;
    test.fake.state.topicOperations.set('orders', 0x0800);
    test.verbs.answer = async ({ rights }) => {
      const cluster = await rights.cluster();
      const topics = await rights.topics(['orders', 'no-such']);
      return { json: JSON.stringify({ cluster, topics: [...topics] }) };
    };
    const client = await test.connect();
    const input = await client.call(32_001, 0, true, (out) => void out.str('{"verb":"plan"}').tags());
    input.i32();
    expect(input.i16()).toBe(0);
    input.nstr();
    expect(JSON.parse(input.str())).toEqual({ cluster: 0x0100, topics: [['orders', 0x0800]] });
    const [call] = test.verbs.calls;
    expect(call).toMatchObject({
      apiKey: 32_001,
      clientId: 'test',
      clientAddress: '127.0.0.1',
      body: { json: '{"verb":"plan"}' },
    });
    expect(test.fake.requestsOf(API.describeCluster).map(({ clientId }) => clientId)).toEqual(['test']);
  });

  it('a verb that fails inside is answered with an error, and the connection stays', async () => {
    test = await startUnderTest();
    test.verbs.answer = () => {
      throw new Error('out of luck');
    };
    const client = await test.connect();
    for (const key of [95, 96, 99, 32_001]) {
      const input = await client.call(key, 0, true, (out) => {
        if (key === 32_001) out.str(null).tags();
        else if (key === 99)
          out
            .list([], () => undefined)
            .bool(false)
            .tags();
        else if (key === 95)
          out
            .str('m')
            .list([], () => undefined)
            .i64(-1)
            .tags();
        else
          out
            .str('m')
            .list([], () => undefined)
            .i64(-1)
            .tags();
      });
      input.i32();
      expect(input.i16()).toBe(-1);
      expect(input.nstr()).toContain('out of luck');
    }
  });

  it('a verb whose body does not decode closes the connection, named', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    client.post(94, 0, true, (out) => void out.i8(99));
    await client.closed;
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'bad-frame': 1 });
  });
});

describe('bytes through a gateway', () => {
  let test: UnderTest;
  afterEach(async () => {
    vi.useRealTimers();
    await test.close();
  });

  it('every split of a stream of requests gives the same answers', async () => {
    test = await startUnderTest({ topics: ['orders', 'copy'], view: new StubView().mirrored('copy') });
    const write = (topic: string) =>
      produceBody(9, [{ topic, partitions: [{ index: 0, records: plainBatch(1) }] }]);
    const stream = Buffer.concat([
      WireClient.encode(API.apiVersions, 3, true, 1, apiVersionsBody()),
      WireClient.encode(API.produce, 9, true, 2, write('copy')),
      WireClient.encode(API.produce, 9, true, 3, write('orders')),
      WireClient.encode(API.metadata, 9, true, 4, metadataBody(9, null)),
    ]);
    const clients: WireClient[] = [];
    for (let cut = 1; cut < stream.length; cut += 7) {
      const client = await test.connect(1);
      clients.push(client);
      client.socket.write(stream.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      client.socket.write(stream.subarray(cut));
    }
    for (const client of clients) {
      const last = await client.answerTo(4);
      expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([1, 2, 3, 4]);
      last.input.flex = true;
      last.input.tags();
      expect(readMetadata(last.input, 9).brokers).toHaveLength(1);
    }
    expect(test.fake.log('orders', 0).end).toBe(clients.length);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('a frame above the cap is refused before it is allocated, one at the cap passes', async () => {
    test = await startUnderTest({ topics: ['orders'], config: { limits: { maxFrameBytes: 1_000 } } });
    const client = await test.connect(1);
    const small = WireClient.encode(API.metadata, 9, true, 1, metadataBody(9, ['x'.repeat(900)]));
    expect(small.length).toBeLessThan(1_004);
    client.socket.write(small);
    await client.answerTo(1);
    client.socket.write(Buffer.from([0, 0, 0x03, 0xe9, 0, 0, 0, 0]));
    await client.closed;
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'oversize-frame': 1 });
  });

  it('a silent client is closed by its idle time, named', async () => {
    test = await startUnderTest({ config: { limits: { idleTimeoutMs: 50 } } });
    const client = await test.connect();
    await client.closed;
    await expect.poll(() => test.gateway.snapshot().closes).toEqual({ 'idle-timeout': 1 });
  });

  it('a client that waits for an answer is not silent, however long the broker takes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    test = await startUnderTest({ topics: ['orders'], config: { limits: { idleTimeoutMs: 400 } } });
    const client = await test.connect(1);
    const held = test.fake.next(
      API.metadata,
      { kind: 'hold' },
      { when: ({ clientId }) => clientId === 'test' },
    );
    const id = client.post(API.metadata, 9, true, metadataBody(9, null));
    await held.met;
    const closes = () => test.gateway.snapshot().closes;
    // a second connection is closed as idle meanwhile, which shows that the time went by more than once
    for (const nth of [1, 2]) {
      await test.connect(1);
      while (test.gateway.snapshot().clients < 2) await turn();
      for (; closes()['idle-timeout'] !== nth; await turn()) vi.advanceTimersByTime(50);
    }
    held.release();
    await client.answerTo(id);
    expect(closes()).toEqual({ 'idle-timeout': 2 });
    for (; closes()['idle-timeout'] !== 3; await turn()) vi.advanceTimersByTime(50);
    await client.closed;
  });

  it('closing the gateway ends its clients as shutdown and gives the ports back', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    await client.call(API.metadata, 9, true, metadataBody(9, null));
    const port = test.portOf();
    await test.gateway.close();
    await client.closed;
    expect(test.gateway.snapshot()).toMatchObject({ clients: 0, closes: { shutdown: 1 } });
    await expect(WireClient.connect(port)).rejects.toThrow('ECONNREFUSED');
  });
});
