/** StartMirrorTopics, key 95. KIP-1279, revision R-July (unreleased, version 0 only). Topic id zero: none. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { array, int16, int32, int64, string, struct, uuid } from './notation.ts';

export const startMirrorTopicsApi = defineApi({
  key: 95,
  name: 'StartMirrorTopics',
  versions: [0, 0],
  flexibleFrom: 0,

  request: {
    mirrorName: string(),
    topics: array(struct({ topicId: uuid({}), topicName: string(), numPartitions: int32() })),
    includePatterns: array(string(), { tag: 0 }),
    excludePatterns: array(string(), { tag: 1 }),
    stateValidationOffset: int64({ default: -1n }),
  },
  response: {
    ...mirrorHead,
    topics: array(
      struct({
        name: string(),
        errorCode: int16({ default: 0 }),
        errorMessage: string({ nullableFrom: 0, default: null }),
      }),
    ),
  },
});

export type StartMirrorTopicsRequest = RequestOf<typeof startMirrorTopicsApi>;
export type StartMirrorTopicsRequestInput = RequestInput<typeof startMirrorTopicsApi>;
export type StartMirrorTopicsResponse = ResponseOf<typeof startMirrorTopicsApi>;
export type StartMirrorTopicsResponseInput = ResponseInput<typeof startMirrorTopicsApi>;
