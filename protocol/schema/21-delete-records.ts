/** DeleteRecords, key 21. Offset -1 stands for the high watermark. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int16, int32, offset64, string, struct } from './notation.ts';

export const deleteRecordsApi = defineApi({
  key: 21,
  name: 'DeleteRecords',
  versions: [0, 2],
  flexibleFrom: 2,

  request: {
    topics: array(
      struct({ name: string(), partitions: array(struct({ partitionIndex: int32(), offset: offset64() })) }),
    ),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({ partitionIndex: int32(), lowWatermark: offset64(), errorCode: int16({ default: 0 }) }),
        ),
      }),
    ),
  },
});

export type DeleteRecordsRequest = RequestOf<typeof deleteRecordsApi>;
export type DeleteRecordsRequestInput = RequestInput<typeof deleteRecordsApi>;
export type DeleteRecordsResponse = ResponseOf<typeof deleteRecordsApi>;
export type DeleteRecordsResponseInput = ResponseInput<typeof deleteRecordsApi>;
