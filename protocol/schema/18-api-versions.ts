/**
 * ApiVersions, key 18. Its response header is version 0 at every version, so that an old client can read the refusal
 * of a version that the broker does not know. Version 5 (4.4, KIP-1242) carries the cluster and node that the client
 * believes to talk to. Source: protocol guide; 4.4.0 for 5.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int16, int32, int64, string, struct } from './notation.ts';

export const apiVersionsApi = defineApi({
  key: 18,
  name: 'ApiVersions',
  versions: [0, 5],
  flexibleFrom: 3,
  request: {
    clientSoftwareName: string({ from: 3, default: '' }),
    clientSoftwareVersion: string({ from: 3, default: '' }),
    clusterId: string({ from: 5, nullableFrom: 5, default: null }),
    nodeId: int32({ from: 5, default: -1 }),
  },
  response: {
    errorCode: int16({ default: 0 }),
    apiKeys: array(struct({ apiKey: int16(), minVersion: int16(), maxVersion: int16() })),
    throttleTimeMs: int32({ from: 1, default: 0 }),
    supportedFeatures: array(struct({ name: string(), minVersion: int16(), maxVersion: int16() }), {
      from: 3,
      tag: 0,
    }),
    finalizedFeaturesEpoch: int64({ from: 3, default: -1n, tag: 1 }),
    finalizedFeatures: array(struct({ name: string(), maxVersionLevel: int16(), minVersionLevel: int16() }), {
      from: 3,
      tag: 2,
    }),
    zkMigrationReady: bool({ from: 3, default: false, tag: 3 }),
  },
});

export type ApiVersionsRequest = RequestOf<typeof apiVersionsApi>;
export type ApiVersionsRequestInput = RequestInput<typeof apiVersionsApi>;
export type ApiVersionsResponse = ResponseOf<typeof apiVersionsApi>;
export type ApiVersionsResponseInput = ResponseInput<typeof apiVersionsApi>;
