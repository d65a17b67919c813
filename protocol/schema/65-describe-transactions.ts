/**
 * DescribeTransactions, key 65. A coordinator answers for the transactional ids that are its own; partitions of topics
 * that the caller may not describe are left out. Source: protocol guide, KIP-664.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int16, int32, int64, string, struct } from './notation.ts';

export const describeTransactionsApi = defineApi({
  key: 65,
  name: 'DescribeTransactions',
  versions: [0, 0],
  flexibleFrom: 0,
  request: { transactionalIds: array(string()) },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    transactionStates: array(
      struct({
        errorCode: int16({ default: 0 }),
        transactionalId: string(),
        transactionState: string(),
        transactionTimeoutMs: int32(),
        transactionStartTimeMs: int64(),
        producerId: int64(),
        producerEpoch: int16(),
        topics: array(struct({ topic: string(), partitions: array(int32()) })),
      }),
    ),
  },
});

export type DescribeTransactionsRequest = RequestOf<typeof describeTransactionsApi>;
export type DescribeTransactionsRequestInput = RequestInput<typeof describeTransactionsApi>;
export type DescribeTransactionsResponse = ResponseOf<typeof describeTransactionsApi>;
export type DescribeTransactionsResponseInput = ResponseInput<typeof describeTransactionsApi>;
