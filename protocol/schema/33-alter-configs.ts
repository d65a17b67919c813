/** AlterConfigs, key 33: replaces all dynamic configs of a resource. Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, string, struct } from './notation.ts';

export const alterConfigsApi = defineApi({
  key: 33,
  name: 'AlterConfigs',
  versions: [0, 2],
  flexibleFrom: 2,

  request: {
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        configs: array(struct({ name: string(), value: string({ nullableFrom: 0, default: null }) })),
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

export type AlterConfigsRequest = RequestOf<typeof alterConfigsApi>;
export type AlterConfigsRequestInput = RequestInput<typeof alterConfigsApi>;
export type AlterConfigsResponse = ResponseOf<typeof alterConfigsApi>;
export type AlterConfigsResponseInput = ResponseInput<typeof alterConfigsApi>;
