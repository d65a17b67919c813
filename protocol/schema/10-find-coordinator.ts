/** FindCoordinator, key 10. One key up to version 3, many from 4 (KIP-699). Key types: 0 group, 1 transaction, 2 share. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int8, int16, int32, string, struct } from './notation.ts';

export const findCoordinatorApi = defineApi({
  key: 10,
  name: 'FindCoordinator',
  versions: [0, 6],
  flexibleFrom: 3,

  request: {
    key: string({ to: 3 }),
    keyType: int8({ from: 1, default: 0 }),
    coordinatorKeys: array(string(), { from: 4 }),
  },
  response: {
    throttleTimeMs: int32({ from: 1, default: 0 }),
    errorCode: int16({ to: 3, default: 0 }),
    errorMessage: string({ from: 1, to: 3, nullableFrom: 1, default: null }),
    nodeId: int32({ to: 3 }),
    host: string({ to: 3 }),
    port: int32({ to: 3 }),
    coordinators: array(
      struct({
        key: string(),
        nodeId: int32(),
        host: string(),
        port: int32(),
        errorCode: int16({ default: 0 }),
        errorMessage: string({ nullableFrom: 4, default: null }),
      }),
      { from: 4 },
    ),
  },
});

export type FindCoordinatorRequest = RequestOf<typeof findCoordinatorApi>;
export type FindCoordinatorRequestInput = RequestInput<typeof findCoordinatorApi>;
export type FindCoordinatorResponse = ResponseOf<typeof findCoordinatorApi>;
export type FindCoordinatorResponseInput = ResponseInput<typeof findCoordinatorApi>;
