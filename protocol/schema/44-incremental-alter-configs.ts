/** IncrementalAlterConfigs, key 44. Operations: 0 set, 1 delete, 2 append, 3 subtract. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, string, struct } from './notation.ts';

export const incrementalAlterConfigsApi = defineApi({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: [0, 1],
  flexibleFrom: 1,

  request: {
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        configs: array(
          struct({
            name: string(),
            configOperation: int8({ default: 0 }),
            value: string({ nullableFrom: 0, default: null }),
          }),
        ),
      }),
    ),
    validateOnly: bool({ default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    responses: array(
      struct({
        errorCode: int16({ default: 0 }),
        errorMessage: string({ nullableFrom: 0, default: null }),
        resourceType: int8(),
        resourceName: string(),
      }),
    ),
  },
});

export type IncrementalAlterConfigsRequest = RequestOf<typeof incrementalAlterConfigsApi>;
export type IncrementalAlterConfigsRequestInput = RequestInput<typeof incrementalAlterConfigsApi>;
export type IncrementalAlterConfigsResponse = ResponseOf<typeof incrementalAlterConfigsApi>;
export type IncrementalAlterConfigsResponseInput = ResponseInput<typeof incrementalAlterConfigsApi>;
