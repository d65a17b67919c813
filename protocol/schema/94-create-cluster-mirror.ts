/**
 * CreateClusterMirror, key 94. KIP-1279, revision R-July (unreleased, version 0 only).
 * Kafka 4.4.0 uses this key for UnregisterController, which has another body.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { array, string, struct } from './notation.ts';

export const createClusterMirrorApi = defineApi({
  key: 94,
  name: 'CreateClusterMirror',
  versions: [0, 0],
  flexibleFrom: 0,

  request: {
    mirrorName: string(),
    config: array(struct({ name: string(), value: string({ nullableFrom: 0, default: null }) })),
  },
  response: mirrorHead,
});

export type CreateClusterMirrorRequest = RequestOf<typeof createClusterMirrorApi>;
export type CreateClusterMirrorRequestInput = RequestInput<typeof createClusterMirrorApi>;
export type CreateClusterMirrorResponse = ResponseOf<typeof createClusterMirrorApi>;
export type CreateClusterMirrorResponseInput = ResponseInput<typeof createClusterMirrorApi>;
