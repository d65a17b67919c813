/**
 * ListTransactions, key 66. Each broker tells of the transactional ids that it coordinates and the caller may describe;
 * the others are left out without a word. Source: protocol guide, KIP-664.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int16, int32, int64, string, struct } from './notation.ts';

export const listTransactionsApi = defineApi({
  key: 66,
  name: 'ListTransactions',
  versions: [0, 2],
  flexibleFrom: 0,
  request: {
    /** `Ongoing`, `PrepareAbort` …; none: all. */
    stateFilters: array(string()),
    producerIdFilters: array(int64()),
    durationFilter: int64({ from: 1, default: -1n }),
    transactionalIdPattern: string({ from: 2, nullableFrom: 2, default: null }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ default: 0 }),
    unknownStateFilters: array(string()),
    transactionStates: array(
      struct({ transactionalId: string(), producerId: int64(), transactionState: string() }),
    ),
  },
});

export type ListTransactionsRequest = RequestOf<typeof listTransactionsApi>;
export type ListTransactionsRequestInput = RequestInput<typeof listTransactionsApi>;
export type ListTransactionsResponse = ResponseOf<typeof listTransactionsApi>;
export type ListTransactionsResponseInput = ResponseInput<typeof listTransactionsApi>;
