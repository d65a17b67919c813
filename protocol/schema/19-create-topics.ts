/**
 * CreateTopics, key 19. Partition count and replication factor -1 ask for the broker's defaults (4+), and stand along
 * with an assignment. Source: protocol guide.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, string, struct, uuid } from './notation.ts';

export const createTopicsApi = defineApi({
  key: 19,
  name: 'CreateTopics',
  versions: [0, 7],
  flexibleFrom: 5,

  request: {
    topics: array(
      struct({
        name: string(),
        numPartitions: int32({ default: -1 }),
        replicationFactor: int16({ default: -1 }),
        assignments: array(struct({ partitionIndex: int32(), brokerIds: array(int32()) }), {}),
        configs: array(struct({ name: string(), value: string({ nullableFrom: 0, default: null }) }), {}),
      }),
    ),
    timeoutMs: int32({ default: 60_000 }),
    validateOnly: bool({ from: 1, default: false }),
  },
  response: {
    throttleTimeMs: int32({ from: 2, default: 0 }),
    topics: array(
      struct({
        name: string(),
        topicId: uuid({ from: 7 }),
        errorCode: int16({ default: 0 }),
        errorMessage: string({ from: 1, nullableFrom: 1, default: null }),
        topicConfigErrorCode: int16({ from: 5, tag: 0, default: 0 }),
        numPartitions: int32({ from: 5, default: -1 }),
        replicationFactor: int16({ from: 5, default: -1 }),
        configs: array(
          struct({
            name: string(),
            value: string({ nullableFrom: 5, default: null }),
            readOnly: bool({ default: false }),
            configSource: int8({ default: -1 }),
            isSensitive: bool({ default: false }),
          }),
          { from: 5, nullableFrom: 5 },
        ),
      }),
    ),
  },
});

export type CreateTopicsRequest = RequestOf<typeof createTopicsApi>;
export type CreateTopicsRequestInput = RequestInput<typeof createTopicsApi>;
export type CreateTopicsResponse = ResponseOf<typeof createTopicsApi>;
export type CreateTopicsResponseInput = ResponseInput<typeof createTopicsApi>;
