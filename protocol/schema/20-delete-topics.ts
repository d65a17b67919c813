/** DeleteTopics, key 20. By name, from version 6 by name or id. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int16, int32, string, struct, uuid } from './notation.ts';

export const deleteTopicsApi = defineApi({
  key: 20,
  name: 'DeleteTopics',
  versions: [0, 6],
  flexibleFrom: 4,

  request: {
    topics: array(struct({ name: string({ nullableFrom: 6, default: null }), topicId: uuid({ from: 6 }) }), {
      from: 6,
    }),
    topicNames: array(string(), { to: 5 }),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32({ from: 1, default: 0 }),
    responses: array(
      struct({
        name: string({ nullableFrom: 6 }),
        topicId: uuid({ from: 6 }),
        errorCode: int16({ default: 0 }),
        errorMessage: string({ from: 5, nullableFrom: 5, default: null }),
      }),
    ),
  },
});

export type DeleteTopicsRequest = RequestOf<typeof deleteTopicsApi>;
export type DeleteTopicsRequestInput = RequestInput<typeof deleteTopicsApi>;
export type DeleteTopicsResponse = ResponseOf<typeof deleteTopicsApi>;
export type DeleteTopicsResponseInput = ResponseInput<typeof deleteTopicsApi>;
