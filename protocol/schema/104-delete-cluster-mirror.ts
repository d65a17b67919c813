/** DeleteClusterMirror, key 104. KIP-1279, revision R-July (unreleased, version 0 only). */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { int64, string } from './notation.ts';

export const deleteClusterMirrorApi = defineApi({
  key: 104,
  name: 'DeleteClusterMirror',
  versions: [0, 0],
  flexibleFrom: 0,

  request: { mirrorName: string(), stateValidationOffset: int64({ default: -1n }) },
  response: mirrorHead,
});

export type DeleteClusterMirrorRequest = RequestOf<typeof deleteClusterMirrorApi>;
export type DeleteClusterMirrorRequestInput = RequestInput<typeof deleteClusterMirrorApi>;
export type DeleteClusterMirrorResponse = ResponseOf<typeof deleteClusterMirrorApi>;
export type DeleteClusterMirrorResponseInput = ResponseInput<typeof deleteClusterMirrorApi>;
