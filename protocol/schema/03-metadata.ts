/** Metadata, key 3. Topic ids from version 10; a top-level error from 13 (KIP-1102). Source: protocol guide; 4.4.0 for 13. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int16, int32, string, struct, uuid } from './notation.ts';

/** What an authorized-operations field holds when nobody asked for it. */
const NOT_ASKED = -0x8000_0000;

export const metadataApi = defineApi({
  key: 3,
  name: 'Metadata',
  versions: [0, 13],
  flexibleFrom: 9,
  request: {
    // Null asks for all topics; version 0 says so with an empty list.
    topics: array(
      struct({ topicId: uuid({ from: 10 }), name: string({ nullableFrom: 10, default: null }) }),
      { nullableFrom: 1 },
    ),
    allowAutoTopicCreation: bool({ from: 4, default: true }),
    includeClusterAuthorizedOperations: bool({ from: 8, to: 10, default: false }),
    includeTopicAuthorizedOperations: bool({ from: 8, default: false }),
  },
  response: {
    throttleTimeMs: int32({ from: 3, default: 0 }),
    brokers: array(
      struct({
        nodeId: int32(),
        host: string(),
        port: int32(),
        rack: string({ from: 1, nullableFrom: 1, default: null }),
      }),
    ),
    clusterId: string({ from: 2, nullableFrom: 2, default: null }),
    controllerId: int32({ from: 1, default: -1 }),
    topics: array(
      struct({
        errorCode: int16({ default: 0 }),
        name: string({ nullableFrom: 12 }),
        topicId: uuid({ from: 10 }),
        isInternal: bool({ from: 1, default: false }),
        partitions: array(
          struct({
            errorCode: int16({ default: 0 }),
            partitionIndex: int32(),
            leaderId: int32(),
            leaderEpoch: int32({ from: 7, default: -1 }),
            replicaNodes: array(int32()),
            isrNodes: array(int32()),
            offlineReplicas: array(int32(), { from: 5 }),
          }),
        ),
        topicAuthorizedOperations: int32({ from: 8, default: NOT_ASKED }),
      }),
    ),
    clusterAuthorizedOperations: int32({ from: 8, to: 10, default: NOT_ASKED }),
    errorCode: int16({ from: 13, default: 0 }),
  },
});

export type MetadataRequest = RequestOf<typeof metadataApi>;
export type MetadataRequestInput = RequestInput<typeof metadataApi>;
export type MetadataResponse = ResponseOf<typeof metadataApi>;
export type MetadataResponseInput = ResponseInput<typeof metadataApi>;
