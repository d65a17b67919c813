/** ListClusterMirrors, key 98. KIP-1279, revision R-July (unreleased, version 0 only). */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { array, bool, int32, string, struct } from './notation.ts';

export const listClusterMirrorsApi = defineApi({
  key: 98,
  name: 'ListClusterMirrors',
  versions: [0, 0],
  flexibleFrom: 0,

  request: { includeTopicNames: bool({ default: false }) },
  response: {
    ...mirrorHead,
    mirrors: array(
      struct({
        mirrorName: string(),
        sourceBootstrap: string({ default: '' }),
        sourceClusterId: string({ default: '' }),
        topicCount: int32({ default: 0 }),
        topicNames: array(string(), {}),
      }),
    ),
  },
});

export type ListClusterMirrorsRequest = RequestOf<typeof listClusterMirrorsApi>;
export type ListClusterMirrorsRequestInput = RequestInput<typeof listClusterMirrorsApi>;
export type ListClusterMirrorsResponse = ResponseOf<typeof listClusterMirrorsApi>;
export type ListClusterMirrorsResponseInput = ResponseInput<typeof listClusterMirrorsApi>;
