import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRequest, encodeResponse } from '../../../../protocol/frame/messages.ts';
import { parseRequestHeader } from '../../../../protocol/frame/headers.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { produceApi } from '../../../../protocol/schema/00-produce.ts';
import { writeTxnMarkersApi } from '../../../../protocol/schema/27-write-txn-markers.ts';
import { MarkerEncoder, decodeMarkerReply } from '../../../../src/link/marker-request.ts';
import type { DataPiece } from '../../../../src/link/pieces.ts';
import { ProduceEncoder, copiedBytes, decodeProduceReply } from '../../../../src/link/produce-request.ts';

const ids = ['AAAAAAAAAAAAAAAAAAAAAQ', 'AAAAAAAAAAAAAAAAAAAAAg'] as const;

function piece(bytes: Buffer): DataPiece {
  return { kind: 'data', offset: 0, next: 1, epoch: 0, bytes, transactional: false, frame: null };
}

/** The frame that a broker gets, without its size; size and correlation id are filled in by the connection. */
function frameOf(chunks: readonly Uint8Array[]): Buffer {
  return Buffer.concat(chunks).subarray(4);
}

describe('Produce by hand is what the schema reads', () => {
  const small = buildBatch({ records: [{ value: 'small', timestamp: 1n }] });
  const large = buildBatch({ records: [{ value: Buffer.alloc(100_000, 7), timestamp: 1n }] });
  const items = [
    { ref: { topic: 'a', partition: 1 }, topicId: ids[0], piece: piece(small) },
    { ref: { topic: 'a', partition: 0 }, topicId: ids[0], piece: piece(large) },
    { ref: { topic: 'b', partition: 5 }, topicId: ids[1], piece: piece(small) },
  ];

  test.each([9, 10, 11, 12, 13])('version %i', (version) => {
    const frame = frameOf(new ProduceEncoder().encode(version, 'isthmus', 'isthmus-m', 30_000, items));
    const header = parseRequestHeader(frame);
    expect(header).toMatchObject({ apiKey: 0, apiVersion: version, clientId: 'isthmus' });
    const body = decodeRequest(produceApi, version, frame, header.bodyOffset);
    expect(body).toMatchObject({ transactionalId: 'isthmus-m', acks: -1, timeoutMs: 30_000 });
    const named = body.topicData.map((topic) => (version >= 13 ? topic.topicId : topic.name));
    expect(named).toEqual(version >= 13 ? ids : ['a', 'b']);
    expect(body.topicData[0]?.partitionData.map(({ index }) => index)).toEqual([1, 0]);
    expect(body.topicData[0]?.partitionData[0]?.records?.equals(small)).toBe(true);
    expect(body.topicData[0]?.partitionData[1]?.records?.equals(large)).toBe(true);
    expect(body.topicData[1]?.partitionData[0]?.records?.equals(small)).toBe(true);
  });

  test('large batches are views, small ones are copied beside their headers', () => {
    const chunks = new ProduceEncoder().encode(13, 'c', null, 1, items);
    expect(chunks.some((chunk) => chunk.buffer === large.buffer && chunk.length === large.length)).toBe(true);
    expect(chunks).toHaveLength(3);
    expect(copiedBytes(piece(small))).toBe(small.length);
    expect(copiedBytes(piece(large))).toBe(0);
  });

  test('an encoder used again gives the second request whole', () => {
    const encoder = new ProduceEncoder();
    encoder.encode(13, 'c', null, 1, items);
    const frame = frameOf(encoder.encode(9, 'c', null, 1, items.slice(2)));
    const body = decodeRequest(produceApi, 9, frame, parseRequestHeader(frame).bodyOffset);
    expect(body.transactionalId).toBeNull();
    expect(body.topicData).toHaveLength(1);
  });
});

describe('replies', () => {
  const entry = fc.record({
    index: fc.nat(1000),
    errorCode: fc.constantFrom(0, 6, 87),
    baseOffset: fc.integer({ min: -1, max: 2 ** 40 }),
    logAppendTimeMs: fc.constantFrom(-1n, 0n, 1_700_000_000_000n),
    recordErrors: fc.array(
      fc.record({ batchIndex: fc.nat(9), batchIndexErrorMessage: fc.option(fc.string()) }),
      { maxLength: 2 },
    ),
    errorMessage: fc.option(fc.string()),
    currentLeader: fc.record({ leaderId: fc.nat(9), leaderEpoch: fc.nat(9) }),
  });

  test('a Produce reply gives every entry with code and base offset', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 9, max: 13 }),
        fc.array(fc.array(entry, { maxLength: 3 }), { maxLength: 2 }),
        (version, topics) => {
          const frame = encodeResponse(produceApi, version, 7, {
            responses: topics.map((partitionResponses, t) => ({
              name: `t${t}`,
              topicId: ids[t] as string,
              partitionResponses: partitionResponses.map((one) => ({
                ...one,
                ...(version < 10 ? { currentLeader: undefined } : {}),
              })) as typeof partitionResponses,
            })),
            nodeEndpoints: [],
          }).subarray(4);
          const got = decodeProduceReply(version, Buffer.from(frame));
          const wanted = topics.flatMap((partitions, t) =>
            partitions.map((one) => ({
              topic: version >= 13 ? ids[t] : `t${t}`,
              partition: one.index,
              errorCode: one.errorCode,
              baseOffset: one.baseOffset,
              stamped: one.logAppendTimeMs >= 0n,
              errorMessage:
                one.errorMessage ??
                one.recordErrors.findLast((fault) => fault.batchIndexErrorMessage !== null)
                  ?.batchIndexErrorMessage ??
                null,
            })),
          );
          expect(got).toEqual(wanted);
        },
      ),
    );
  });

  test('a reply that is cut anywhere is an error, never a wrong entry', () => {
    const frame = encodeResponse(produceApi, 11, 7, {
      responses: [
        {
          name: 'a',
          partitionResponses: [{ index: 0, baseOffset: 5, recordErrors: [], errorMessage: null }],
        },
      ],
    });
    for (let size = 0; size < frame.length - 4; size += 1) {
      expect(() => decodeProduceReply(11, Buffer.from(frame.subarray(4, 4 + size)))).toThrow(/Produce/);
    }
  });

  test('a hostile count allocates nothing', () => {
    const frame = Buffer.from([0, 0, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    expect(() => decodeProduceReply(11, frame)).toThrow(/Produce v11 response/);
    expect(() => decodeMarkerReply(1, frame)).toThrow(/WriteTxnMarkers v1 response/);
  });
});

describe('WriteTxnMarkers by hand is what the schema reads', () => {
  test.each([1, 2])('version %i', (version) => {
    const groups = [
      {
        ref: { topic: 'a', partition: 4 },
        markers: [
          { producerId: -9n, producerEpoch: 3, coordinatorEpoch: 8 },
          { producerId: -(2n ** 61n) - 5n, producerEpoch: 0, coordinatorEpoch: 0 },
        ],
      },
      {
        ref: { topic: 'b', partition: 0 },
        markers: [{ producerId: -9n, producerEpoch: 1, coordinatorEpoch: 2 }],
      },
    ];
    const frame = frameOf(new MarkerEncoder().encode(version, 'isthmus', groups));
    const body = decodeRequest(writeTxnMarkersApi, version, frame, parseRequestHeader(frame).bodyOffset);
    expect(body.markers).toMatchObject([
      { producerId: -9n, producerEpoch: 3, transactionResult: true, coordinatorEpoch: 8 },
      { producerId: -(2n ** 61n) - 5n, producerEpoch: 0, transactionResult: true, coordinatorEpoch: 0 },
      { producerId: -9n, producerEpoch: 1, transactionResult: true, coordinatorEpoch: 2 },
    ]);
    expect(body.markers[0]?.topics).toMatchObject([{ name: 'a', partitionIndexes: [4] }]);
    expect(body.markers[2]?.topics).toMatchObject([{ name: 'b', partitionIndexes: [0] }]);
  });

  test('the first error of a partition counts, answers are merged over ids', () => {
    const frame = encodeResponse(writeTxnMarkersApi, 1, 7, {
      markers: [
        { producerId: -2n, topics: [{ name: 'a', partitions: [{ partitionIndex: 0, errorCode: 0 }] }] },
        {
          producerId: -3n,
          topics: [
            {
              name: 'a',
              partitions: [
                { partitionIndex: 0, errorCode: 6 },
                { partitionIndex: 1, errorCode: 0 },
              ],
            },
          ],
        },
        { producerId: -4n, topics: [{ name: 'a', partitions: [{ partitionIndex: 0, errorCode: 0 }] }] },
      ],
    }).subarray(4);
    const errors = decodeMarkerReply(1, Buffer.from(frame));
    expect(errors.get('a')?.get(0)).toBe(6);
    expect(errors.get('a')?.get(1)).toBe(0);
    expect(errors.get('a')?.get(2)).toBeUndefined();
  });
});
