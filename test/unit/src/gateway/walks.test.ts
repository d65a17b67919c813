import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeResponse,
  encodeRequest,
  encodeResponse,
  parseRequestHeader,
} from '../../../../protocol/frame/index.ts';
import { fetchApi, type FetchResponseInput } from '../../../../protocol/schema/01-fetch.ts';
import {
  produceApi,
  type ProduceRequestInput,
  type ProduceResponseInput,
} from '../../../../protocol/schema/00-produce.ts';
import { rewriteEndpoints } from '../../../../src/gateway/endpoints.ts';
import { walkFetch } from '../../../../src/gateway/fetch-walk.ts';
import { NodeMap } from '../../../../src/gateway/node-map.ts';
import { walkProduce } from '../../../../src/gateway/produce-walk.ts';
import { endOfProduceResponse } from '../../../../src/gateway/rules/produce.ts';
import { splice } from '../../../../src/gateway/splice.ts';

const ID = 'b3JkZXJzb3JkZXJzb3JkZQ';
const versionsOf = ({ min, max }: { min: number; max: number }): number[] =>
  Array.from({ length: max - min + 1 }, (_, index) => min + index);

const produceRequest: ProduceRequestInput = {
  transactionalId: 'txn',
  acks: -1,
  timeoutMs: 1_000,
  topicData: [
    {
      name: 'a',
      topicId: ID,
      partitionData: [
        { index: 0, records: Buffer.from('first') },
        { index: 7, records: null },
      ],
    },
    { name: 'längér', topicId: ID, partitionData: [{ index: 1, records: Buffer.alloc(300, 1) }] },
    { name: 'empty', topicId: ID, partitionData: [] },
  ],
};

const fetchResponse: FetchResponseInput = {
  throttleTimeMs: 3,
  responses: [
    {
      topic: 'a',
      topicId: ID,
      partitions: [
        {
          partitionIndex: 2,
          highWatermark: 9,
          abortedTransactions: [{ producerId: 5n, firstOffset: 1 }],
          records: Buffer.alloc(200, 2),
          currentLeader: { leaderId: 3, leaderEpoch: 1 },
        },
        { partitionIndex: 3, highWatermark: 0, abortedTransactions: null, records: null },
      ],
    },
  ],
};

describe.each(versionsOf(produceApi))('walkProduce, version %i', (version) => {
  const frame = encodeRequest(produceApi, version, 1, 'client', produceRequest).subarray(4);
  const { bodyOffset } = parseRequestHeader(frame);

  it('finds acks, topics, partitions and where records lie', () => {
    const shape = walkProduce(frame, bodyOffset, version);
    if (typeof shape === 'string') throw new Error(shape);
    expect(shape).toMatchObject({ acks: -1, transactionalId: 'txn' });
    const named = version >= 13 ? [ID, ID, ID] : ['a', 'längér', 'empty'];
    expect(shape.topics.map(({ name, topicId }) => name ?? topicId)).toEqual(named);
    const records = shape.topics.map(({ partitions }) =>
      partitions.map(({ index, recordsAt, recordsEnd }) => [
        index,
        recordsAt < 0 ? null : frame.subarray(recordsAt, recordsEnd).length,
      ]),
    );
    expect(records).toEqual([
      [
        [0, 5],
        [7, null],
      ],
      [[1, 300]],
      [],
    ]);
  });

  it('cut at any byte it says what is wrong', () => {
    for (let end = bodyOffset; end < frame.length; end += 1) {
      expect(typeof walkProduce(frame.subarray(0, end), bodyOffset, version)).toBe('string');
    }
  });

  it('never throws on changed bytes', () => {
    fc.assert(
      fc.property(fc.nat(frame.length - 5), fc.integer(), (at, value) => {
        const changed = Buffer.from(frame);
        changed.writeInt32BE(value, at);
        walkProduce(changed, bodyOffset, version);
      }),
      { numRuns: 200 },
    );
  });
});

describe.each(versionsOf(fetchApi))('walkFetch, version %i', (version) => {
  const frame = encodeResponse(fetchApi, version, 1, fetchResponse).subarray(4);

  it('finds the record bytes of each partition and the end of the body', () => {
    const shape = walkFetch(frame, version, true);
    if (typeof shape === 'string') throw new Error(shape);
    expect(shape.tagsAt).toBe(version >= 12 ? frame.length - 1 : frame.length);
    expect(shape.partitions).toHaveLength(1);
    const [found] = shape.partitions;
    expect(found).toMatchObject({ topic: version >= 13 ? ID : 'a', index: 2 });
    expect(frame.subarray(found?.recordsAt, found?.recordsEnd)).toEqual(Buffer.alloc(200, 2));
  });

  it('cut at any byte it says what is wrong', () => {
    for (let end = 4; end < frame.length; end += 1) {
      expect(typeof walkFetch(frame.subarray(0, end), version, true)).toBe('string');
    }
  });

  it('never throws on changed bytes', () => {
    fc.assert(
      fc.property(fc.nat(frame.length - 5), fc.integer(), (at, value) => {
        const changed = Buffer.from(frame);
        changed.writeInt32BE(value, at);
        walkFetch(changed, version, true);
      }),
      { numRuns: 200 },
    );
  });
});

describe('NodeEndpoints', () => {
  const nodes = new NodeMap('gw', new Map([[1, { host: 'gw.example.com', port: 9193 }]]));
  const endpoints = [
    { nodeId: 1, host: 'real-1', port: 9092, rack: 'r1' },
    { nodeId: 2, host: 'real-2', port: 9092, rack: null },
  ];
  const rewritten = (frame: Buffer, tagsAt: number): Buffer => {
    const edit = rewriteEndpoints(frame, tagsAt, nodes);
    if (edit === null) throw new Error('nothing to rewrite');
    return Buffer.concat(splice(frame, [edit])).subarray(4);
  };

  it.each([16, 17, 18])(
    'of a Fetch %i: ours, unmapped ones left out, unknown tags and all else kept',
    (version) => {
      const unknownTags = [{ tag: 900, bytes: Buffer.from('kept') }];
      const frame = encodeResponse(fetchApi, version, 1, {
        ...fetchResponse,
        nodeEndpoints: endpoints,
        unknownTags,
      }).subarray(4);
      const shape = walkFetch(frame, version, false);
      if (typeof shape === 'string') throw new Error(shape);
      const after = decodeResponse(fetchApi, version, rewritten(frame, shape.tagsAt));
      const before = decodeResponse(fetchApi, version, frame);
      expect(after).toEqual({
        ...before,
        nodeEndpoints: [{ nodeId: 1, host: 'gw.example.com', port: 9193, rack: 'r1' }],
      });
      expect(after.unknownTags).toEqual(unknownTags);
    },
  );

  const produceResponse: ProduceResponseInput = {
    responses: [
      {
        name: 'a',
        topicId: ID,
        partitionResponses: [
          {
            index: 0,
            errorCode: 6,
            recordErrors: [{ batchIndex: 1, batchIndexErrorMessage: 'bad' }],
            errorMessage: 'moved',
            currentLeader: { leaderId: 1, leaderEpoch: 4 },
          },
        ],
      },
    ],
  };

  it.each([10, 11, 12, 13])('of a Produce %i: the same', (version) => {
    const frame = encodeResponse(produceApi, version, 1, {
      ...produceResponse,
      nodeEndpoints: endpoints,
    }).subarray(4);
    const after = decodeResponse(produceApi, version, rewritten(frame, endOfProduceResponse(frame, version)));
    expect(after).toEqual({
      ...decodeResponse(produceApi, version, frame),
      nodeEndpoints: [{ nodeId: 1, host: 'gw.example.com', port: 9193, rack: 'r1' }],
    });
  });

  it('a response without any is left alone', () => {
    const frame = encodeResponse(produceApi, 11, 1, produceResponse).subarray(4);
    expect(rewriteEndpoints(frame, endOfProduceResponse(frame, 11), nodes)).toBeNull();
  });
});
