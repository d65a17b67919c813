import { afterEach, describe, expect, it } from 'vitest';
import { barrierId } from '../../protocol/records/ids.ts';
import { readBarrier } from '../../protocol/records/barrier.ts';
import { crcOf, makeMarker, plainBatch, splitBatches } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import { API, fetchBody, metadataBody, readFetch } from './support/requests.ts';
import { StubView } from './support/stub-control.ts';
import type { WireClient } from './support/wire-client.ts';

const ID = 'Y29weWNvcHljb3B5Y29weQ';
const SOURCE = 'east-cluster-id-000000';
const GENERATION = 3;
const CONTROL = 0x20;
const TRANSACTIONAL = 0x10;

// log: data 0-2, an ordinary marker 3, the barrier 4, data 5-6
const barrierMarker = makeMarker({
  producerId: barrierId(SOURCE),
  producerEpoch: 0,
  commit: true,
  coordinatorEpoch: GENERATION,
});
const ordinaryMarker = makeMarker({ producerId: -9n, producerEpoch: 2, commit: true, coordinatorEpoch: 5 });

describe('Fetch of a partition with a barrier', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  const start = async (view: StubView): Promise<WireClient> => {
    test = await startUnderTest({ topics: [{ name: 'copy', topicId: ID, partitions: 2 }], view });
    const log = test.fake.log('copy', 0);
    log.append(plainBatch(3, { producerId: -9n }));
    log.append(ordinaryMarker);
    log.append(barrierMarker);
    log.append(plainBatch(2));
    return await test.connect(1);
  };
  const known = (sourceClusterId = SOURCE): StubView =>
    new StubView()
      .mirrored('copy', { stopped: 'all' })
      .barrier('copy', 0, { offset: 4, generation: GENERATION, sourceClusterId });
  const fetched = async (client: WireClient, version: number, offset = 0): Promise<Buffer> => {
    const topic = version >= 13 ? ID : 'copy';
    const body = fetchBody(version, [{ topic, index: 0, offset }]);
    const { partitions } = readFetch(await client.call(API.fetch, version, version >= 12, body), version);
    expect(partitions).toMatchObject([{ topic, index: 0, code: 0, end: 7 }]);
    return partitions[0]?.records ?? Buffer.alloc(0);
  };

  it.each([
    ['a length inside it', 61],
    ['its value', barrierMarker.length - 2],
  ])(
    'a barrier marker that is damaged in %s passes as it stands: its reader is told, not cut off',
    async (_, at) => {
      const client = await start(known());
      const stored = test.fake.log('copy', 0).batches[2]?.bytes ?? Buffer.alloc(0);
      stored.writeUInt8(stored.readUInt8(at) ^ 0x40, at);
      expect(splitBatches(await fetched(client, 12))[2]?.equals(stored)).toBe(true);
    },
  );

  it.each([4, 7, 11, 12, 13, 15, 16, 17, 18])(
    'version %i: the marker is shown as type 7, all else as stored',
    async (version) => {
      const client = await start(known());
      const batches = splitBatches(await fetched(client, version));
      const stored = test.fake.log('copy', 0).batches.map(({ bytes }) => bytes);
      expect(batches).toHaveLength(4);
      expect([0, 1, 3].map((at) => batches[at]?.equals(stored[at] ?? Buffer.alloc(0)))).toEqual([
        true,
        true,
        true,
      ]);
      const shown = batches[2] ?? Buffer.alloc(0);
      expect(shown.readBigInt64BE(0)).toBe(4n);
      expect(shown.readBigInt64BE(43)).toBe(barrierId(SOURCE));
      expect(shown.readInt16BE(51)).toBe(0);
      expect(shown.readInt16BE(21) & (CONTROL | TRANSACTIONAL)).toBe(CONTROL);
      expect(shown.readUInt32BE(17)).toBe(crcOf(shown));
      expect(shown.readInt32BE(12)).toBe(stored[2]?.readInt32BE(12));
      // key: version 0, type 7, behind length, attributes, two deltas and the key's length
      expect(shown.subarray(66, 70)).toEqual(Buffer.from([0, 0, 0, 7]));
      expect(readBarrier(shown, 0)).toMatchObject({
        form: 'type-7',
        offset: 4,
        generation: GENERATION,
        sourceClusterId: SOURCE,
      });
    },
  );

  it('a barrier whose source nobody knows shows an empty id', async () => {
    const client = await start(known(''));
    const shown = splitBatches(await fetched(client, 12))[2] ?? Buffer.alloc(0);
    expect(readBarrier(shown, 0)).toMatchObject({ form: 'type-7', sourceClusterId: undefined });
  });

  it('fetched from behind it, or in another partition, nothing is changed', async () => {
    const client = await start(
      known().barrier('copy', 1, { offset: 0, generation: 1, sourceClusterId: SOURCE }),
    );
    const tail = await fetched(client, 12, 5);
    expect(tail.equals(test.fake.log('copy', 0).batches[3]?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it('a marker in the barrier range that the state does not know is passed as stored', async () => {
    const client = await start(
      new StubView()
        .mirrored('copy')
        .barrier('copy', 0, { offset: 99, generation: 1, sourceClusterId: SOURCE }),
    );
    const batches = splitBatches(await fetched(client, 12));
    expect(batches[2]?.equals(test.fake.log('copy', 0).batches[2]?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it('by id: learned from Metadata, or looked up while the answer waits and what is behind it too', async () => {
    const client = await start(known());
    const first = client.post(API.fetch, 13, true, fetchBody(13, [{ topic: ID, index: 0, offset: 0 }]));
    const second = client.post(API.metadata, 12, true, metadataBody(12, null));
    const third = client.post(API.fetch, 13, true, fetchBody(13, [{ topic: ID, index: 0, offset: 0 }]));
    await client.answerTo(third);
    expect(client.answers.map(({ correlationId }) => correlationId)).toEqual([first, second, third]);
    for (const answer of [client.answers[0], client.answers[2]]) {
      const input = answer?.input;
      if (input === undefined) throw new Error('no answer');
      input.flex = true;
      input.tags();
      const batch = splitBatches(readFetch(input, 13).partitions[0]?.records ?? Buffer.alloc(0))[2];
      expect(batch?.subarray(66, 70)).toEqual(Buffer.from([0, 0, 0, 7]));
    }
  });
});
