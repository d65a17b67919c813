import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fetchApi } from '../../protocol/schema/01-fetch.ts';
import { createTopicsApi } from '../../protocol/schema/19-create-topics.ts';
import { incrementalAlterConfigsApi } from '../../protocol/schema/44-incremental-alter-configs.ts';
import { encodeRecord } from '../../src/control/state/codec.ts';
import { visitCommitted } from '../../src/control/state/committed-records.ts';
import {
  type CommandOutcome,
  type NewCommand,
  StateFenced,
  type StateStore,
  type StateStoreOptions,
  TopicStateStore,
  keyText,
} from '../../src/control/state/index.ts';
import { TransactionalProducer } from '../../src/control/state/transactional-producer.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { type KafkaCluster, startCluster } from '../harness/kafka-cluster.ts';
import type { KafkaVersion } from '../harness/kafka-home.ts';
import { until } from '../harness/until.ts';
import { mirror, partition, topic } from '../unit/src/control/state/samples.ts';

describe.each<KafkaVersion>(['4.4.0', '3.9.1'])('state store on Kafka %s', (version) => {
  let kafka: KafkaCluster;
  let names = 0;
  const open: { store: StateStore; cluster: Cluster }[] = [];

  beforeAll(async () => {
    kafka = await startCluster({ version, properties: { 'log.cleaner.backoff.ms': 100 } });
  });
  afterAll(async () => {
    await kafka?.destroy();
  });
  afterEach(async () => {
    for (const { store, cluster } of open.splice(0)) {
      await store.close();
      await cluster.close();
    }
  });

  const newTopic = (): string => `state-${++names}`;
  const connect = (): Cluster =>
    new Cluster({ name: 'west', properties: { 'bootstrap.servers': kafka.bootstrap } });

  function make(name: string, options: Partial<StateStoreOptions> & { partitions?: number } = {}) {
    const { partitions = 3, ...rest } = options;
    const cluster = connect();
    const store = new TopicStateStore({
      cluster,
      settings: { topic: name, partitions, replicationFactor: 1 },
      openTimeoutMs: 30_000,
      ...rest,
    });
    open.push({ store, cluster });
    return store;
  }

  async function setSegmentBytes(name: string, bytes: number): Promise<void> {
    const cluster = connect();
    const connection = await cluster.anyConnection('test');
    const configs = [{ name: 'segment.bytes', configOperation: 0, value: String(bytes) }];
    const resources = [{ resourceType: 2, resourceName: name, configs }];
    const answer = await connection.call(incrementalAlterConfigsApi, { resources, validateOnly: false });
    expect(answer.responses[0]?.errorCode).toBe(0);
    await cluster.close();
  }

  /**
   * Offset of the first record of a key that partition 0 still holds, -1 when it holds none. Read to the end: one
   * answer comes from one segment, and a compacted segment may have nothing of the key left.
   */
  async function firstOffsetOf(wanted: string, name: string): Promise<number> {
    const cluster = connect();
    await cluster.refresh([name]);
    const connection = await cluster.connection(1, 'test');
    const offsets: number[] = [];
    for (let from = 0, batches = 1; batches > 0 && offsets.length === 0; ) {
      const partitions = [{ partition: 0, fetchOffset: from, partitionMaxBytes: 1024 * 1024 }];
      const topics = [{ topic: name, partitions }];
      const fetch = { maxWaitMs: 0, minBytes: 0, topics, forgottenTopicsData: [] };
      const answer = await connection.call(fetchApi, fetch, { version: 12 });
      const fetched = answer.responses[0]?.partitions[0];
      expect(fetched?.errorCode).toBe(0);
      const read = visitCommitted(fetched?.records ?? Buffer.alloc(0), from, [], ({ offset, key }) => {
        if (String(key) === wanted) offsets.push(offset);
      });
      from = read.next;
      batches = read.batches;
    }
    await cluster.close();
    return offsets[0] ?? -1;
  }

  async function opened(name: string, options: Parameters<typeof make>[1] = {}): Promise<TopicStateStore> {
    const store = make(name, options);
    await store.open();
    return store;
  }

  test('what was written is read back, and again by the next process', async () => {
    const name = newTopic();
    const first = await opened(name);
    expect(first.incarnation).toBe(1);
    await first.write([{ put: mirror }, { put: topic }, { put: partition }]);
    expect(first.view.topics.get('orders')).toEqual({ ...topic, ownerEpoch: 1 });
    await first.write([
      { put: { ...topic, desired: 'MIRRORING' } },
      { delete: { kind: 'mirror', name: mirror.name } },
    ]);
    await first.close(new Map([['orders/7', 4711]]));

    const second = await opened(name);
    expect(second.incarnation).toBe(2);
    expect(second.view.mirrors.size).toBe(0);
    expect(second.view.topics.get('orders')).toEqual({ ...topic, desired: 'MIRRORING', ownerEpoch: 1 });
    expect(second.view.partitions.get('orders/7')).toEqual({ ...partition, ownerEpoch: 1 });
    await until('it is fresh', () => second.freshness() === 'fresh');
    expect(second.releasedEnd('orders', 7)).toBe(4711);
    expect(second.releasedEnd('orders', 6)).toBeNull();
    await until('it may append', () => second.mayAppend());
  });

  test('an owner that was not released is waited for before anything may be appended', async () => {
    const name = newTopic();
    await (await opened(name)).close();
    let passed = 0;
    const clock = () => ({ mono: performance.now() + passed, wall: Date.now() + passed });
    const second = await opened(name, { leaseMs: 600_000, clock });
    expect(second.releasedEnd('orders', 7)).toBeNull();
    expect(second.mayAppend()).toBe(false);
    passed = 600_001;
    await second.whenMayAppend();
    await until('its heartbeat, now too old, was repeated', () => second.mayAppend());
  });

  test('a second instance fences the first: it learns by its heartbeat and writes no more', async () => {
    const name = newTopic();
    const first = await opened(name);
    await first.write([{ put: topic }]);
    await until('the first may append', () => first.mayAppend());
    const told: Error[] = [];
    first.onFenced((error) => told.push(error));

    const second = await opened(name);
    await until('the first is told', () => told.length > 0);
    expect(told[0]).toBeInstanceOf(StateFenced);
    expect(first.fenced).toBe(true);
    expect(first.mayAppend()).toBe(false);
    await expect(first.write([{ put: { ...topic, desired: 'PAUSED' } }])).rejects.toThrow(StateFenced);
    await expect(first.write([{ put: partition }])).rejects.toThrow(/Another instance took/);

    await second.write([{ put: mirror }]);
    expect(second.view.topics.get('orders')?.desired).toBe(topic.desired);
    // the fenced one still reads, so that its gateway stays right until it ends
    await until('the fenced one follows', () => first.view.mirrors.size === 1);
    await until('and stays fresh', () => first.freshness() === 'fresh');
  });

  test('a write in progress at the moment of fencing is refused, not half done', async () => {
    const name = newTopic();
    const first = await opened(name);
    const outcomes: unknown[] = [];
    const loop = (async () => {
      while (!(outcomes.at(-1) instanceof Error)) {
        const put = { ...partition, persistedEnd: outcomes.length };
        const changes = [{ put }, { put: { ...topic, error: String(outcomes.length) } }];
        outcomes.push(await first.write(changes).catch((error: unknown) => error));
      }
    })();
    await until('some are written', () => outcomes.length > 5);
    const second = await opened(name);
    await loop;
    expect(String(outcomes.at(-1))).toMatch(/^StateFenced/);
    const seen = second.view.partitions.get('orders/7')?.persistedEnd ?? -1;
    expect(seen).toBeGreaterThanOrEqual(outcomes.length - 2);
    expect(Number(second.view.topics.get('orders')?.error)).toBeLessThanOrEqual(seen);
  });

  test('a process killed inside a transaction leaves nothing of it, and blocks nobody', async () => {
    const name = newTopic();
    const first = await opened(name);
    await first.write([{ put: topic }]);
    // the same id, as the killed process held it: partition added, records produced, no EndTxn
    const cluster = connect();
    await cluster.refresh([name]);
    const killed = new AbortController();
    const producer = new TransactionalProducer({
      cluster,
      topic: name,
      partition: 0,
      transactionalId: `isthmus-state-${name}-0`,
      signal: killed.signal,
    });
    await producer.init();
    const value = encodeRecord({ ...topic, desired: 'PAUSED' }, 1);
    const end = cluster.connection.bind(cluster);
    let calls = 0;
    cluster.connection = async (...args: Parameters<typeof end>) => {
      // AddPartitionsToTxn, Produce, then EndTxn: at the third the process is gone
      if (++calls === 3) killed.abort();
      if (calls >= 3) throw new Error('killed');
      return end(...args);
    };
    await expect(producer.commit([[{ key: keyText(topic), value, timestamp: 1n }]])).rejects.toThrow(
      /closed/,
    );
    await cluster.close();

    const second = await opened(name);
    expect(second.view.topics.get('orders')?.desired).toBe(topic.desired);
    await second.write([{ put: { ...topic, desired: 'MIRRORING' } }]);
    expect(second.view.topics.get('orders')?.desired).toBe('MIRRORING');
  });

  test('a broker killed and started again in the middle of writes: none is lost, nobody is fenced', async () => {
    const store = await opened(newTopic());
    let written = 0;
    let stop = false;
    const loop = (async () => {
      for (; !stop; written += 1)
        await store.write([{ put: { ...partition, persistedEnd: written } }, { put: topic }]);
    })();
    await until('some are written', () => written > 5);
    await kafka.kill(1);
    await until('the lease ends: nothing may be appended', () => !store.mayAppend());
    expect(store.freshness()).toBe('stale');
    await kafka.start(1);
    const before = written;
    await until('writes go on', () => written > before + 5);
    stop = true;
    await loop;
    expect(store.view.partitions.get('orders/7')?.persistedEnd).toBe(written - 1);
    expect(store.fenced).toBe(false);
    await until('it may append again', () => store.mayAppend());
  });

  test('commands of any instance are taken in order by the owner, and answered', async () => {
    const name = newTopic();
    const owner = await opened(name);
    const other = await opened(name, { observe: true });
    expect(other.mayAppend()).toBe(false);
    await expect(other.write([{ put: topic }])).rejects.toThrow(/does not own/);
    const taken: string[] = [];
    owner.onCommand(async (command): Promise<CommandOutcome> => {
      taken.push(command.verb);
      if (command.verb === 'fail') throw new Error('no such mirror');
      return {
        changes: [{ put: { ...topic, desired: 'PAUSED' } }],
        ok: true,
        topics: [{ topic: 'orders', code: 0, message: '' }],
        report: { verb: command.verb, options: JSON.parse(command.options) as unknown },
      };
    });
    const ask = (store: StateStore, command: NewCommand) =>
      store.submit({ mirror: 'm', topics: ['orders'], ...command });
    const done = await ask(other, { verb: 'pause', options: { n: 1 } });
    expect(done).toMatchObject({ ok: true, errorCode: 0, topics: [{ topic: 'orders', code: 0 }] });
    expect(JSON.parse(done.report)).toEqual({ verb: 'pause', options: { n: 1 } });
    expect(other.view.topics.get('orders')?.desired).toBe('PAUSED');
    expect(await ask(owner, { verb: 'fail' })).toMatchObject({ ok: false, errorMessage: 'no such mirror' });
    await Promise.all([ask(other, { verb: 'a' }), ask(owner, { verb: 'b' })]);
    expect(taken.slice(0, 2)).toEqual(['pause', 'fail']);
    expect(taken.slice(2).sort()).toEqual(['a', 'b']);
    await until('commands are gone once answered', () => other.view.commands.size === 0);
    expect(other.view.results.size).toBe(4);
  });

  test('commands wait for an owner: begun ones are finished, late ones end as EXPIRED', async () => {
    const name = newTopic();
    const first = await opened(name);
    const other = await opened(name, { observe: true });
    const begun = Promise.withResolvers<void>();
    first.onCommand(() => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    const finished = other.submit({ verb: 'begun', deadlineMs: 60_000 });
    await begun.promise;
    const expired = other.submit({ verb: 'late', deadlineMs: 60_000 });
    await until('both are in the log', () => other.view.commands.size === 2);
    // to whom both are past their deadline
    const clock = () => ({ mono: performance.now(), wall: Date.now() + 120_000 });
    const second = await opened(name, { clock });
    second.onCommand(async ({ verb }) => ({ changes: [], ok: true, report: { verb } }));
    expect(await finished).toMatchObject({ ok: true, report: '{"verb":"begun"}' });
    expect(await expired).toMatchObject({
      ok: false,
      errorCode: 7,
      errorMessage: expect.stringMatching(/^EXPIRED/),
    });
    await until('the first knows that it need not finish', () => first.fenced);
  });

  test('a compacted log tells the same state', async () => {
    const name = newTopic();
    const first = await opened(name, { partitions: 1 });
    await setSegmentBytes(name, 1024 * 1024);
    await first.write([{ put: mirror }, { put: topic }]);
    await first.write([{ delete: { kind: 'mirror', name: mirror.name } }]);
    const errorMessage = 'x'.repeat(200_000);
    const key = keyText(partition);
    const put = (persistedEnd: number) =>
      first.write([{ put: { ...partition, persistedEnd, errorMessage } }]);
    await put(0);
    // Asked while all of it lies in the active segment: later the cleaner may be faster than we are.
    const written = await firstOffsetOf(key, name);
    expect(written).toBeGreaterThan(0);
    for (let n = 1; n < 12; n += 1) await put(n);
    await until('older values are compacted away', async () => (await firstOffsetOf(key, name)) > written);
    await first.close(new Map());
    const second = await opened(name, { partitions: 1 });
    await until('it is fresh', () => second.freshness() === 'fresh');
    expect(second.incarnation).toBe(2);
    expect(second.view.mirrors.size).toBe(0);
    expect(second.view.topics.get('orders')).toMatchObject(topic);
    expect(second.view.partitions.get('orders/7')?.persistedEnd).toBe(11);
    await second.write([{ put: partition }]);
    expect(second.view.partitions.get('orders/7')).toMatchObject(partition);
  });

  test('50 state partitions open within seconds', async () => {
    const name = newTopic();
    const times: number[] = [];
    for (const round of [1, 2]) {
      const begun = performance.now();
      const store = await opened(name, { partitions: 50 });
      times.push(performance.now() - begun);
      expect(store.incarnation).toBe(round);
      await store.write([{ put: { ...partition, partition: round } }]);
      await store.close(new Map());
    }
    console.info(
      `50 state partitions on ${version}: ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`,
    );
    // the first creates the topic as well, which is the broker's time
    expect(times[1]).toBeLessThan(10_000);
  });

  test('more brokers demanded than there are: the error names the way out', async () => {
    const store = make(newTopic(), { settings: { topic: 'never', partitions: 3, replicationFactor: 3 } });
    await expect(store.open()).rejects.toThrow(
      /state.replication.factor is 3 and west has 1 broker\..*replication.factor: 1/,
    );
  });

  test('a topic that is not ours is refused: other partition count, not compacted', async () => {
    const name = newTopic();
    await (await opened(name)).close();
    await expect(make(name, { partitions: 4 }).open()).rejects.toThrow(
      /has 3 partitions and state.partitions is 4/,
    );

    const cluster = connect();
    const connection = await cluster.anyConnection('test');
    const plain = newTopic();
    await connection.call(createTopicsApi, {
      topics: [{ name: plain, numPartitions: 3, replicationFactor: 1 }],
    });
    await cluster.close();
    await expect(make(plain).open()).rejects.toThrow(/has cleanup.policy=delete.*kafka-configs/);
  });
});
