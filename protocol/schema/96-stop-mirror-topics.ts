/** StopMirrorTopics, key 96. KIP-1279, revision R-July (unreleased, version 0 only). */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { array, int16, int64, string, struct } from './notation.ts';

export const stopMirrorTopicsApi = defineApi({
  key: 96,
  name: 'StopMirrorTopics',
  versions: [0, 0],
  flexibleFrom: 0,

  request: {
    mirrorName: string(),
    topics: array(struct({ topicName: string() })),
    patterns: array(string(), { tag: 0 }),
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

export type StopMirrorTopicsRequest = RequestOf<typeof stopMirrorTopicsApi>;
export type StopMirrorTopicsRequestInput = RequestInput<typeof stopMirrorTopicsApi>;
export type StopMirrorTopicsResponse = ResponseOf<typeof stopMirrorTopicsApi>;
export type StopMirrorTopicsResponseInput = ResponseInput<typeof stopMirrorTopicsApi>;
