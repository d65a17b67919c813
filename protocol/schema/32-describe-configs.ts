/**
 * DescribeConfigs, key 32. Resource types: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group, and 64
 * cluster mirror (KIP-1279). Source: protocol guide.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, string, struct } from './notation.ts';

export const describeConfigsApi = defineApi({
  key: 32,
  name: 'DescribeConfigs',
  versions: [0, 4],
  flexibleFrom: 4,

  request: {
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        configurationKeys: array(string(), { nullableFrom: 0 }),
      }),
    ),
    includeSynonyms: bool({ from: 1, default: false }),
    includeDocumentation: bool({ from: 3, default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    results: array(
      struct({
        errorCode: int16({ default: 0 }),
        errorMessage: string({ nullableFrom: 0, default: null }),
        resourceType: int8(),
        resourceName: string(),
        configs: array(
          struct({
            name: string(),
            value: string({ nullableFrom: 0, default: null }),
            readOnly: bool({ default: false }),
            isDefault: bool({ to: 0, default: false }),
            configSource: int8({ from: 1, default: -1 }),
            isSensitive: bool({ default: false }),
            synonyms: array(
              struct({ name: string(), value: string({ nullableFrom: 1, default: null }), source: int8() }),
              { from: 1 },
            ),
            configType: int8({ from: 3, default: 0 }),
            documentation: string({ from: 3, nullableFrom: 3, default: null }),
          }),
        ),
      }),
    ),
  },
});

export type DescribeConfigsRequest = RequestOf<typeof describeConfigsApi>;
export type DescribeConfigsRequestInput = RequestInput<typeof describeConfigsApi>;
export type DescribeConfigsResponse = ResponseOf<typeof describeConfigsApi>;
export type DescribeConfigsResponseInput = ResponseInput<typeof describeConfigsApi>;
