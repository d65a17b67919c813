import { afterEach, describe, expect, it } from 'vitest';
import { crcOf, makeBatch, plainBatch } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import { API, type ProduceAnswer, produceBody, readProduce } from './support/requests.ts';
import { StubView } from './support/stub-control.ts';
import type { WireClient } from './support/wire-client.ts';

const batch = (sequence: number, count = 2, id = 6n, epoch = 0): Buffer =>
  plainBatch(count, { producerId: id, producerEpoch: epoch, baseSequence: sequence });

describe('Produce of a foreign copier through a role: mirror gateway', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const start = async (): Promise<void> => {
    test = await startUnderTest({
      topics: [{ name: 'copy', partitions: 2 }, 'orders', 'other'],
      view: new StubView().mirrored('copy').mirrored('other', { mirror: 'another' }),
      config: { role: 'mirror', mirror: 'east-to-west' },
    });
  };
  const entry = (topic: string, index: number, records: Buffer) => ({
    topic,
    partitions: [{ index, records }],
  });
  const write = async (
    client: WireClient,
    entries: Parameters<typeof produceBody>[1],
    acks = -1,
    version = 9,
  ): Promise<ProduceAnswer[]> =>
    readProduce(
      await client.call(API.produce, version, true, produceBody(version, entries, { acks })),
      version,
    );

  it('ids are mapped and the CRC is right, nothing else changes', async () => {
    await start();
    const client = await test.connect(1);
    const sent = batch(0, 3, 6n, 4);
    expect(await write(client, [entry('copy', 0, sent)])).toMatchObject([{ code: 0, base: 0 }]);
    const stored = test.fake.log('copy', 0).batches[0]?.bytes ?? Buffer.alloc(0);
    expect(stored.readBigInt64BE(43)).toBe(-8n);
    expect(stored.readUInt32BE(17)).toBe(crcOf(stored));
    const expected = Buffer.from(sent);
    stored.copy(expected, 12, 12, 16);
    stored.copy(expected, 17, 17, 21);
    stored.copy(expected, 43, 43, 51);
    expect(stored.equals(expected)).toBe(true);
    expect(test.mirrorRole.appends).toEqual(['east-to-west copy/0 0+3']);
  });

  it('ids -1 and below -1 stay', async () => {
    await start();
    const client = await test.connect(1);
    await write(client, [entry('copy', 0, plainBatch(1))]);
    await write(client, [entry('copy', 0, batch(0, 1, -44n))]);
    expect(test.fake.log('copy', 0).batches.map(({ bytes }) => bytes.readBigInt64BE(43))).toEqual([
      -1n,
      -44n,
    ]);
  });

  it.each([
    ['acks=1', plainBatch(1), 1, 21, 'acks=all'],
    [
      'a transactional batch',
      plainBatch(1, { producerId: 5n, transactional: true }),
      -1,
      44,
      'read_committed',
    ],
    ['a control batch', plainBatch(1, { producerId: 5n, control: true }), -1, 87, 'data batches'],
    ['two batches', Buffer.concat([plainBatch(1), plainBatch(1)]), -1, 87, 'exactly one'],
    ['no batch', Buffer.alloc(0), -1, 87, 'exactly one'],
    ['half a batch', plainBatch(1).subarray(0, 70), -1, 87, 'exactly one'],
    ['an id that has no mapped one', plainBatch(1, { producerId: 2n ** 61n - 2n }), -1, 49, 'no mapped id'],
    [
      'a first sequence above 0',
      plainBatch(1, { producerId: 5n, baseSequence: 7 }),
      -1,
      45,
      'does not follow',
    ],
  ])('%s is refused with a reason and reaches no broker', async (_, records, acks, code, text) => {
    await start();
    const client = await test.connect(1);
    const [answer] = await write(client, [entry('copy', 0, records)], acks);
    expect(answer?.code).toBe(code);
    expect(answer?.message).toContain(text);
    expect(test.fake.requestsOf(API.produce)).toEqual([]);
    expect(test.mirrorRole.failures).toEqual([]);
  });

  it('the same batch again, a gap and an older epoch are refused; the next one and a new epoch are taken', async () => {
    await start();
    const client = await test.connect(1);
    const codes: (number | undefined)[] = [];
    for (const [sequence, epoch] of [
      [0, 1],
      [0, 1],
      [4, 1],
      [2, 1],
      [4, 0],
      [7, 2],
      [0, 2],
    ] as const) {
      codes.push((await write(client, [entry('copy', 0, batch(sequence, 2, 6n, epoch))]))[0]?.code);
    }
    expect(codes).toEqual([0, 45, 45, 0, 47, 45, 0]);
    expect(test.fake.log('copy', 0).end).toBe(6);
  });

  it('a grant that is refused is told: not the owner, and no external copier', async () => {
    await start();
    const client = await test.connect(1);
    test.mirrorRole.refusal = { kind: 'not-leader', message: 'another instance owns copy-0' };
    expect(await write(client, [entry('copy', 0, batch(0))])).toMatchObject([
      { code: 6, message: 'another instance owns copy-0' },
    ]);
    test.mirrorRole.refusal = { kind: 'refused', message: 'mirror east-to-west copies by its own link' };
    expect(await write(client, [entry('copy', 0, batch(0))])).toMatchObject([{ code: 44 }]);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('ordinary partitions and those of another mirror are treated as on a client gateway', async () => {
    await start();
    const client = await test.connect(1);
    const answers = await write(client, [
      entry('orders', 0, plainBatch(1, { producerId: 6n })),
      entry('other', 0, plainBatch(1)),
      entry('copy', 0, batch(0)),
    ]);
    expect(answers).toMatchObject([{ code: 0 }, { code: 44 }, { code: 0, base: 0 }]);
    expect(test.fake.log('orders', 0).batches[0]?.bytes.readBigInt64BE(43)).toBe(6n);
  });

  it('a partition has one Produce in progress: a second client waits for the first', async () => {
    await start();
    const [first, second] = [await test.connect(1), await test.connect(1)];
    const held = test.fake.next(API.produce, { kind: 'hold', when: 'after' });
    const a = first.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(0))]));
    await held.met;
    const b = second.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(2))]));
    const other = await test.connect(1);
    expect(await write(other, [entry('copy', 1, batch(0, 1, 9n))])).toMatchObject([{ code: 0 }]);
    expect(test.fake.log('copy', 0).end).toBe(2);
    await expect.poll(() => test.gateway.snapshot().holds).toEqual({ 'client:waiting': 1 });
    held.release();
    await first.answerTo(a);
    await second.answerTo(b);
    expect(test.fake.log('copy', 0).end).toBe(4);
    expect(test.mirrorRole.ends.get('copy/0')).toBe(4);
    expect(test.mirrorRole.failures).toEqual([]);
  });

  it('two requests that name the same two partitions in other order do not block one another', async () => {
    await start();
    const clients = [await test.connect(1), await test.connect(1)];
    const rounds = 20;
    const done = clients.map(async (client, which) => {
      for (let n = 0; n < rounds; n += 1) {
        const entries = [0, 1].map((index) => entry('copy', index, batch(n, 1, BigInt(which))));
        const answers = await write(client, which === 0 ? entries : entries.toReversed());
        expect(answers.map(({ code }) => code)).toEqual([0, 0]);
      }
    });
    await Promise.all(done);
    expect([0, 1].map((index) => test.fake.log('copy', index).end)).toEqual([2 * rounds, 2 * rounds]);
  });

  it('stored at another offset than expected: someone else wrote, the partition fails', async () => {
    await start();
    test.fake.log('copy', 0).append(plainBatch(1));
    const client = await test.connect(1);
    const [answer] = await write(client, [entry('copy', 0, batch(0))]);
    expect(answer).toMatchObject({ code: -1 });
    expect(test.mirrorRole.failures).toEqual([expect.stringContaining('stored at offset 1, expected 0')]);
  });

  it.each([
    ['NOT_ENOUGH_REPLICAS', 19],
    ['NOT_LEADER_OR_FOLLOWER without an offset', 6],
    ['MESSAGE_TOO_LARGE', 10],
  ])('%s: not stored, the copier may send it again', async (_, code) => {
    await start();
    const client = await test.connect(1);
    test.fake.next(API.produce, { kind: 'fail', code });
    expect(await write(client, [entry('copy', 0, batch(0))])).toMatchObject([{ code }]);
    expect(await write(client, [entry('copy', 0, batch(0))])).toMatchObject([{ code: 0, base: 0 }]);
    expect(test.mirrorRole.failures).toEqual([]);
  });

  it.each([
    ['REQUEST_TIMED_OUT', 7],
    ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 20],
    ['UNKNOWN_SERVER_ERROR', -1],
  ])('%s leaves the outcome open: the partition fails', async (_, code) => {
    await start();
    const client = await test.connect(1);
    test.fake.next(API.produce, { kind: 'fail', code });
    await write(client, [entry('copy', 0, batch(0))]);
    expect(test.mirrorRole.failures).toEqual([expect.stringContaining('leaves open')]);
  });

  it('a lost upstream reply fails the partition', async () => {
    await start();
    const client = await test.connect(1);
    test.fake.next(API.produce, { kind: 'cut', when: 'after' });
    client.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(0))]));
    await client.closed;
    expect(test.mirrorRole.failures).toEqual([expect.stringContaining('not known')]);
  });

  it('a client that leaves in the middle loses nothing: the reply is waited for', async () => {
    await start();
    const client = await test.connect(1);
    const held = test.fake.next(API.produce, { kind: 'hold', when: 'after' });
    client.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(0))]));
    await held.met;
    client.end();
    await client.closed;
    const next = await test.connect(1);
    const id = next.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(2))]));
    held.release();
    await next.answerTo(id);
    expect(test.mirrorRole.appends).toEqual(['east-to-west copy/0 0+2', 'east-to-west copy/0 2+2']);
    expect(test.mirrorRole.failures).toEqual([]);
  });

  it('an uncompressed batch with a wrong CRC still shows as damaged at the broker', async () => {
    await start();
    const client = await test.connect(1);
    const damaged = makeBatch({ records: [{ key: null, value: 'x' }], producerId: 6n });
    damaged.writeUInt8(damaged.readUInt8(67) ^ 1, 67);
    expect(await write(client, [entry('copy', 0, damaged)])).toMatchObject([{ code: 2 }]);
    expect(test.mirrorRole.failures).toEqual([]);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });
});
