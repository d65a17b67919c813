/** DescribeClusterMirrors, key 99. KIP-1279, revision R-July (unreleased, version 0 only). Offsets and lag are -1 when unknown. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { array, bool, int16, int32, offset64, string, struct, uuid } from './notation.ts';

/** What an authorized-operations field holds when nobody asked for it. */
const NOT_ASKED = -0x8000_0000;

export const describeClusterMirrorsApi = defineApi({
  key: 99,
  name: 'DescribeClusterMirrors',
  versions: [0, 0],
  flexibleFrom: 0,

  request: {
    mirrorNames: array(string(), {}),
    includeAuthorizedOperations: bool({ default: false }),
    clusterId: string({ nullableFrom: 0, default: null, tag: 0 }),
    lastMirrorEpochLookups: array(struct({ topicId: uuid(), partitions: array(int32()) }), { tag: 1 }),
  },
  response: {
    ...mirrorHead,
    mirrors: array(
      struct({
        errorCode: int16({ default: 0 }),
        mirrorName: string(),
        authorizedOperations: int32({ default: NOT_ASKED }),
        topics: array(
          struct({
            topicName: string(),
            partitions: array(
              struct({
                partitionIndex: int32(),
                sourceOffset: offset64({ default: -1 }),
                destinationOffset: offset64({ default: -1 }),
                lag: offset64({ default: -1 }),
                stateValue: string(),
                retryAttempt: int16({ default: 0 }),
                errorMessage: string({ nullableFrom: 0, default: null }),
              }),
            ),
          }),
        ),
      }),
    ),
    lookupResults: array(
      struct({
        topicId: uuid(),
        partitions: array(struct({ partitionIndex: int32(), lastMirrorEpoch: int32({ default: -1 }) })),
      }),
      { tag: 0 },
    ),
  },
});

export type DescribeClusterMirrorsRequest = RequestOf<typeof describeClusterMirrorsApi>;
export type DescribeClusterMirrorsRequestInput = RequestInput<typeof describeClusterMirrorsApi>;
export type DescribeClusterMirrorsResponse = ResponseOf<typeof describeClusterMirrorsApi>;
export type DescribeClusterMirrorsResponseInput = ResponseInput<typeof describeClusterMirrorsApi>;
