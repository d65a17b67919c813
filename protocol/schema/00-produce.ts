/** Produce, key 0. Topics by name up to version 12, by id from 13 (KIP-516). Source: protocol guide; 4.4.0 for 12-13. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { leaderIdAndEpoch, nodeEndpoints } from './common.ts';
import { array, int16, int32, int64, offset64, records, string, struct, uuid } from './notation.ts';

export const produceApi = defineApi({
  key: 0,
  name: 'Produce',
  versions: [3, 13],
  flexibleFrom: 9,
  request: {
    transactionalId: string({ nullableFrom: 3, default: null }),
    acks: int16(),
    timeoutMs: int32(),
    topicData: array(
      struct({
        name: string({ to: 12 }),
        topicId: uuid({ from: 13 }),
        partitionData: array(struct({ index: int32(), records: records({ nullableFrom: 0 }) })),
      }),
    ),
  },
  response: {
    responses: array(
      struct({
        name: string({ to: 12 }),
        topicId: uuid({ from: 13 }),
        partitionResponses: array(
          struct({
            index: int32(),
            errorCode: int16({ default: 0 }),
            baseOffset: offset64({ default: 0 }),
            logAppendTimeMs: int64({ default: -1n }),
            logStartOffset: offset64({ from: 5, default: -1 }),
            recordErrors: array(
              struct({
                batchIndex: int32(),
                batchIndexErrorMessage: string({ nullableFrom: 8, default: null }),
              }),
              { from: 8 },
            ),
            errorMessage: string({ from: 8, nullableFrom: 8, default: null }),
            currentLeader: leaderIdAndEpoch({ from: 10, tag: 0 }),
          }),
        ),
      }),
    ),
    throttleTimeMs: int32({ default: 0 }),
    nodeEndpoints: nodeEndpoints({ from: 10, tag: 0 }),
  },
});

export type ProduceRequest = RequestOf<typeof produceApi>;
export type ProduceRequestInput = RequestInput<typeof produceApi>;
export type ProduceResponse = ResponseOf<typeof produceApi>;
export type ProduceResponseInput = ResponseInput<typeof produceApi>;
