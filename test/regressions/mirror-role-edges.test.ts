import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { parseRequestHeader } from '../../protocol/frame/headers.ts';
import { encodeResponse } from '../../protocol/frame/messages.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { Lane, lanesFor } from '../../src/gateway/mirror-lanes.ts';
import { mirrorProduceRule } from '../../src/gateway/mirror-role.ts';
import { settleAll } from '../../src/gateway/mirror-settle.ts';
import type { ReplyHandler, RequestSeen } from '../../src/gateway/rule.ts';
import { produceRule } from '../../src/gateway/rules/produce.ts';
import { TopicIds } from '../../src/gateway/topic-ids.ts';
import { crcOf, plainBatch } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API, type ProduceAnswer, produceBody, readProduce } from '../fake-broker/support/requests.ts';
import { StubMirrorRole, StubView } from '../fake-broker/support/stub-control.ts';
import { WireClient } from '../fake-broker/support/wire-client.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const MIRROR = 'east-to-west';
const batch = (sequence: number): Buffer => plainBatch(2, { producerId: 6n, baseSequence: sequence });
const entry = (topic: string, index: number, records: Buffer) => ({
  topic,
  partitions: [{ index, records }],
});

describe('a foreign copier at the edges of its mirror', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const start = async (view = new StubView().mirrored('copy', { stopped: [1] })): Promise<WireClient> => {
    test = await startUnderTest({
      topics: [{ name: 'copy', partitions: 2 }, 'orders'],
      view,
      config: { role: 'mirror', mirror: MIRROR },
    });
    return test.connect(1);
  };
  const write = async (
    client: WireClient,
    entries: Parameters<typeof produceBody>[1],
  ): Promise<ProduceAnswer[]> =>
    readProduce(await client.call(API.produce, 9, true, produceBody(9, entries)), 9);

  // It took the stopped partition for an ordinary one: after a failover the copier's records went on behind the barrier.
  it('a stopped partition of its mirror is not written by it, the others are', async () => {
    const client = await start();
    const answers = await write(client, [entry('copy', 1, batch(0)), entry('copy', 0, batch(0))]);
    expect(answers).toMatchObject([{ code: 44 }, { code: 0, base: 0 }]);
    expect(answers[0]?.message).toContain(`mirror ${MIRROR} is stopped`);
    expect(test.fake.log('copy', 1).end).toBe(0);
  });

  it('acks=0: what is no copy is written, then the connection ends, as on a client gateway', async () => {
    const client = await start();
    const entries = [entry('copy', 0, batch(0)), entry('orders', 0, plainBatch(1))];
    client.post(API.produce, 9, true, produceBody(9, entries, { acks: 0 }));
    await client.closed;
    await expect.poll(() => test.fake.log('orders', 0).end).toBe(1);
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  // A broker of 3.6 and later takes it, clears the bit and shows the producers' times in place of the source's.
  it('a batch with LogAppendTime is refused, for a broker would change its times', async () => {
    const client = await start();
    const records = plainBatch(2);
    records.writeUInt8(records.readUInt8(22) | 0x08, 22);
    records.writeUInt32BE(crcOf(records), 17);
    const [answer] = await write(client, [entry('copy', 0, records)]);
    expect(answer).toMatchObject({ code: 87 });
    expect(answer?.message).toContain('LogAppendTime');
    expect(test.fake.log('copy', 0).end).toBe(0);
  });

  it('partitions that nobody owns leave nothing in memory', async () => {
    const client = await start();
    test.mirrorRole.refusal = { kind: 'not-leader', message: 'not ready here' };
    for (let index = 100; index < 110; index += 1) {
      expect(await write(client, [entry('copy', index, batch(0))])).toMatchObject([{ code: 6 }]);
    }
    expect(lanesFor(test.mirrorRole).size).toBe(0);
  });

  it.each([
    ['stored', null],
    ['refused for certain', { kind: 'fail', code: 19 }],
    ['left open', { kind: 'fail', code: 7 }],
    ['lost', { kind: 'cut', when: 'after' }],
  ] as const)('an append that is %s is told to begin once and to end once', async (_, action) => {
    const client = await start();
    if (action !== null) test.fake.next(API.produce, action);
    client.post(API.produce, 9, true, produceBody(9, [entry('copy', 0, batch(0))]));
    await expect.poll(() => test.mirrorRole.ended.get('copy/0')).toBe(1);
    expect(test.mirrorRole.begun.get('copy/0')).toBe(1);
  });
});

// An error that stands beside an offset comes from after the append: the batch was sent again and stood there twice.
describe('the answer to an append', () => {
  const settle = (errorCode: number, baseOffset: number): StubMirrorRole => {
    const port = new StubMirrorRole();
    const lane = new Lane();
    lane.take();
    const identity = { producerId: -1n, producerEpoch: -1, baseSequence: -1, count: 2 };
    const granted = {
      lane,
      topic: 'copy',
      key: 'copy',
      partition: 0,
      expectedOffset: 4,
      batch: identity,
      at: 0,
    };
    const answer = encodeResponse(produceApi, 9, 1, {
      responses: [{ name: 'copy', partitionResponses: [{ index: 0, errorCode, baseOffset }] }],
    });
    settleAll(port, MIRROR, [granted], answer.subarray(4), 9);
    expect(lane.free).toBeNull();
    return port;
  };

  it.each([
    ['UNKNOWN_TOPIC_OR_PARTITION', 3],
    ['NOT_LEADER_OR_FOLLOWER', 6],
    ['NOT_ENOUGH_REPLICAS', 19],
  ])('%s with an offset leaves it open, without one it was not stored', (_, code) => {
    expect(settle(code, -1).failures).toEqual([]);
    expect(settle(code, 4).failures).toEqual([expect.stringContaining('leaves open')]);
  });
});

// What answers a request later reached the request, and with it all its records until the broker's answer.
describe('a Produce whose answer is due', () => {
  const services = (role: 'client' | 'mirror', view: StubView) =>
    ({
      config: { role, mirror: role === 'mirror' ? MIRROR : null, readOnlyError: 'policy-violation' },
      ids: new TopicIds(async () => new Map()),
      view,
      mirrorRole: new StubMirrorRole(),
      nodes: null,
      clientAddress: '127.0.0.1',
      softwareName: '',
    }) as unknown as Omit<RequestSeen, 'frame' | 'header'>;

  /** Only what is kept until the answer; the frame and the chunks that were sent are let go of. */
  function replyOf(
    role: 'client' | 'mirror',
    view: StubView,
  ): { reply: ReplyHandler; bytes: WeakRef<ArrayBufferLike> } {
    const entries = [entry('copy', 0, batch(0)), entry('copy', 1, batch(0))];
    const frame = Buffer.alloc(4 * 1024 * 1024);
    const encoded = WireClient.encode(API.produce, 9, true, 1, produceBody(9, entries)).subarray(4);
    encoded.copy(frame);
    const seen = frame.subarray(0, encoded.length);
    const rule = role === 'mirror' ? mirrorProduceRule : produceRule;
    const request = { ...services(role, view), frame: seen, header: parseRequestHeader(seen) };
    const verdict = rule.request?.run(request as RequestSeen);
    if (verdict?.kind !== 'forward-as' || verdict.reply === undefined)
      throw new Error('it was not forwarded');
    return { reply: verdict.reply, bytes: new WeakRef(frame.buffer) };
  }

  it.each([
    ['a client whose request was taken apart', 'client', new StubView().mirrored('copy', { stopped: [1] })],
    ['a copier', 'mirror', new StubView().mirrored('copy')],
  ] as const)('of %s is not kept', async (_, role, view) => {
    const { reply, bytes } = replyOf(role, view);
    await turn();
    collect();
    expect(bytes.deref()).toBeUndefined();
    expect(reply.mustHear).toBe(role === 'mirror');
  });
});
