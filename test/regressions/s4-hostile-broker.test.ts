import { afterEach, describe, expect, it } from 'vitest';
import { Out } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, apiVersionsBody, fetchBody, metadataBody } from '../fake-broker/support/requests.ts';

const LISTED = [API.metadata, API.findCoordinator, API.describeCluster, API.fetch, API.apiVersions];

// S4: a hostile broker answered with bad array lengths and crashed clients.
describe('S4 a broker that answers with garbage', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it.each([
    ['an array of 2^31-2', Buffer.from([0xff, 0xff, 0xff, 0xff, 0x07, 0xff, 0xff, 0xff])],
    ['nothing', Buffer.alloc(0)],
    ['random bytes', Buffer.from('8f3ac19ed77b00ff8812c0ffee', 'hex')],
  ])('%s: that connection ends with a name, others go on', async (_, garbage) => {
    test = await startUnderTest({ brokers: 2, topics: ['orders'] });
    // only the client's questions are answered so; the gateway's own cluster connection is not under attack here
    const attacked = new Set<number>(LISTED);
    for (const key of attacked) {
      const client = await test.connect(1);
      const answered = test.fake.next(
        key,
        { kind: 'silence' },
        { when: ({ clientId }) => clientId === 'test' },
      );
      const bodies: Record<number, (out: Out) => void> = {
        [API.metadata]: metadataBody(12, null),
        [API.findCoordinator]: (out) =>
          void out
            .i8(0)
            .list(['g'], (name) => void out.str(name))
            .tags(),
        [API.describeCluster]: (out) => void out.bool(false).i8(1).tags(),
        [API.fetch]: fetchBody(16, []),
        [API.apiVersions]: apiVersionsBody(),
      };
      const versions: Record<number, number> = {
        [API.metadata]: 12,
        [API.findCoordinator]: 4,
        [API.describeCluster]: 1,
        [API.fetch]: 16,
        [API.apiVersions]: 3,
      };
      const id = client.post(key, versions[key] ?? 0, true, bodies[key] ?? (() => undefined));
      const request = await answered.met;
      const out = new Out(true).i32(id);
      if (key !== API.apiVersions) out.tags();
      test.fake.sendRaw(request.connection, out.raw(garbage).done());
      await client.closed;
      expect(client.answers).toEqual([]);
    }
    const other = await test.connect(2);
    await other.call(API.metadata, 9, true, metadataBody(9, null));
  });

  it('millions of coordinators in one answer: that connection ends, little is allocated', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    const client = await test.connect(1);
    const answered = test.fake.next(API.findCoordinator, { kind: 'silence' });
    const ask = (out: Out) =>
      void out
        .i8(0)
        .list(['g'], (name) => void out.str(name))
        .tags();
    const id = client.post(API.findCoordinator, 4, true, ask);
    const request = await answered.met;
    // key, node id, host, port, error, message, tags
    const entry = Buffer.from([1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
    const count = 4 * 1024 * 1024;
    const head = new Out(true).i32(id).tags().i32(0);
    const answer = head
      .uvar(count + 1)
      .raw(Buffer.alloc(count * entry.length, entry))
      .tags()
      .done();
    const before = process.memoryUsage().heapUsed;
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().heapUsed)), 1);
    test.fake.sendRaw(request.connection, answer);
    await client.closed;
    clearInterval(watch);
    expect(client.answers).toEqual([]);
    expect((most - before) / 1024 / 1024).toBeLessThan(64);
  });

  it('an answer to no request, and one with another id, end the connection', async () => {
    test = await startUnderTest({ topics: ['orders'] });
    for (const id of [999, 1]) {
      const client = await test.connect(1);
      const silent = test.fake.next(
        API.metadata,
        { kind: 'silence' },
        { when: ({ clientId }) => clientId === 'test' },
      );
      client.post(API.metadata, 9, true, metadataBody(9, null), 5);
      const { connection } = await silent.met;
      test.fake.sendRaw(connection, new Out(true).i32(id).tags().done());
      await client.closed;
    }
  });
});
