/** CreatePartitions, key 37. `count` is the new total. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int16, int32, string, struct } from './notation.ts';

export const createPartitionsApi = defineApi({
  key: 37,
  name: 'CreatePartitions',
  versions: [0, 3],
  flexibleFrom: 2,

  request: {
    topics: array(
      struct({
        name: string(),
        count: int32(),
        assignments: array(struct({ brokerIds: array(int32()) }), { nullableFrom: 0 }),
      }),
    ),
    timeoutMs: int32(),
    validateOnly: bool({ default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    results: array(
      struct({
        name: string(),
        errorCode: int16({ default: 0 }),
        errorMessage: string({ nullableFrom: 0, default: null }),
      }),
    ),
  },
});

export type CreatePartitionsRequest = RequestOf<typeof createPartitionsApi>;
export type CreatePartitionsRequestInput = RequestInput<typeof createPartitionsApi>;
export type CreatePartitionsResponse = ResponseOf<typeof createPartitionsApi>;
export type CreatePartitionsResponseInput = ResponseInput<typeof createPartitionsApi>;
