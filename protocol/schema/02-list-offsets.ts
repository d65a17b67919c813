/**
 * ListOffsets, key 2. Timestamps: -1 latest, -2 earliest, -3 largest timestamp (7+), -4 earliest local (8+),
 * -5 latest tiered (9+), -6 earliest pending upload (11+). Source: protocol guide; 4.4.0 for 11.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int8, int16, int32, int64, offset64, string, struct } from './notation.ts';

export const listOffsetsApi = defineApi({
  key: 2,
  name: 'ListOffsets',
  versions: [1, 11],
  flexibleFrom: 6,
  request: {
    replicaId: int32({ default: -1 }),
    isolationLevel: int8({ from: 2, default: 0 }),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            currentLeaderEpoch: int32({ from: 4, default: -1 }),
            timestamp: int64(),
          }),
        ),
      }),
    ),
    timeoutMs: int32({ from: 10, default: 0 }),
  },
  response: {
    throttleTimeMs: int32({ from: 2, default: 0 }),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            errorCode: int16({ default: 0 }),
            timestamp: int64({ default: -1n }),
            offset: offset64({ default: -1 }),
            leaderEpoch: int32({ from: 4, default: -1 }),
          }),
        ),
      }),
    ),
  },
});

export type ListOffsetsRequest = RequestOf<typeof listOffsetsApi>;
export type ListOffsetsRequestInput = RequestInput<typeof listOffsetsApi>;
export type ListOffsetsResponse = ResponseOf<typeof listOffsetsApi>;
export type ListOffsetsResponseInput = ResponseInput<typeof listOffsetsApi>;
