/** DescribeCluster, key 60. Endpoint types: 1 brokers, 2 controllers. Source: protocol guide; 4.4.0 for 2 (fenced brokers). */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, string, struct } from './notation.ts';

/** What an authorized-operations field holds when nobody asked for it. */
const NOT_ASKED = -0x8000_0000;

export const describeClusterApi = defineApi({
  key: 60,
  name: 'DescribeCluster',
  versions: [0, 2],
  flexibleFrom: 0,

  request: {
    includeClusterAuthorizedOperations: bool({ default: false }),
    endpointType: int8({ from: 1, default: 1 }),
    includeFencedBrokers: bool({ from: 2, default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ default: 0 }),
    errorMessage: string({ nullableFrom: 0, default: null }),
    endpointType: int8({ from: 1, default: 1 }),
    clusterId: string(),
    controllerId: int32({ default: -1 }),
    brokers: array(
      struct({
        brokerId: int32(),
        host: string(),
        port: int32(),
        rack: string({ nullableFrom: 0, default: null }),
        isFenced: bool({ from: 2, default: false }),
      }),
    ),
    clusterAuthorizedOperations: int32({ default: NOT_ASKED }),
  },
});

export type DescribeClusterRequest = RequestOf<typeof describeClusterApi>;
export type DescribeClusterRequestInput = RequestInput<typeof describeClusterApi>;
export type DescribeClusterResponse = ResponseOf<typeof describeClusterApi>;
export type DescribeClusterResponseInput = ResponseInput<typeof describeClusterApi>;
