/** OffsetForLeaderEpoch, key 23. Replica id -1 is a consumer, which sees no further than the high watermark; -2 debugging. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int16, int32, offset64, string, struct } from './notation.ts';

export const offsetForLeaderEpochApi = defineApi({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: [2, 4],
  flexibleFrom: 4,
  request: {
    replicaId: int32({ from: 3, default: -2 }),
    topics: array(
      struct({
        topic: string(),
        partitions: array(
          struct({ partition: int32(), currentLeaderEpoch: int32({ default: -1 }), leaderEpoch: int32() }),
        ),
      }),
    ),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array(
      struct({
        topic: string(),
        partitions: array(
          struct({
            errorCode: int16({ default: 0 }),
            partition: int32(),
            leaderEpoch: int32({ default: -1 }),
            endOffset: offset64({ default: -1 }),
          }),
        ),
      }),
    ),
  },
});

export type OffsetForLeaderEpochRequest = RequestOf<typeof offsetForLeaderEpochApi>;
export type OffsetForLeaderEpochRequestInput = RequestInput<typeof offsetForLeaderEpochApi>;
export type OffsetForLeaderEpochResponse = ResponseOf<typeof offsetForLeaderEpochApi>;
export type OffsetForLeaderEpochResponseInput = ResponseInput<typeof offsetForLeaderEpochApi>;
