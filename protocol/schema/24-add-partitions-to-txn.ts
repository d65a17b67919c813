/**
 * AddPartitionsToTxn, key 24. Versions 0-3 are for clients, one transaction each; 4 and later carry many and are for
 * brokers (KIP-890). Source: protocol guide.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int16, int32, int64, string, struct } from './notation.ts';

const topic = struct({ name: string(), partitions: array(int32()) });

const topicResult = struct({
  name: string(),
  resultsByPartition: array(struct({ partitionIndex: int32(), partitionErrorCode: int16() })),
});

export const addPartitionsToTxnApi = defineApi({
  key: 24,
  name: 'AddPartitionsToTxn',
  versions: [0, 5],
  flexibleFrom: 3,

  request: {
    transactions: array(
      struct({
        transactionalId: string(),
        producerId: int64(),
        producerEpoch: int16(),
        verifyOnly: bool({ default: false }),
        topics: array(topic),
      }),
      { from: 4 },
    ),
    v3AndBelowTransactionalId: string({ to: 3 }),
    v3AndBelowProducerId: int64({ to: 3 }),
    v3AndBelowProducerEpoch: int16({ to: 3 }),
    v3AndBelowTopics: array(topic, { to: 3 }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ from: 4, default: 0 }),
    resultsByTransaction: array(struct({ transactionalId: string(), topicResults: array(topicResult) }), {
      from: 4,
    }),
    resultsByTopicV3AndBelow: array(topicResult, { to: 3 }),
  },
});

export type AddPartitionsToTxnRequest = RequestOf<typeof addPartitionsToTxnApi>;
export type AddPartitionsToTxnRequestInput = RequestInput<typeof addPartitionsToTxnApi>;
export type AddPartitionsToTxnResponse = ResponseOf<typeof addPartitionsToTxnApi>;
export type AddPartitionsToTxnResponseInput = ResponseInput<typeof addPartitionsToTxnApi>;
