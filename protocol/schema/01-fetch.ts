/** Fetch, key 1. Topics by name up to version 12, by id from 13 (KIP-516). Source: protocol guide; 4.4.0 for 18 (KIP-1166). */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { leaderIdAndEpoch, nodeEndpoints } from './common.ts';
import { array, int8, int16, int32, int64, offset64, records, string, struct, uuid } from './notation.ts';

/** A follower that does not tell its high watermark: an int64, since it lies above the safe integers. */
const NO_HIGH_WATERMARK = 0x7fff_ffff_ffff_ffffn;

export const fetchApi = defineApi({
  key: 1,
  name: 'Fetch',
  versions: [4, 18],
  flexibleFrom: 12,
  request: {
    clusterId: string({ from: 12, nullableFrom: 12, default: null, tag: 0 }),
    replicaId: int32({ to: 14, default: -1 }),
    replicaState: struct(
      { replicaId: int32({ default: -1 }), replicaEpoch: int64({ default: -1n }) },
      { from: 15, tag: 1 },
    ),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32({ default: 0x7fff_ffff }),
    isolationLevel: int8({ default: 0 }),
    sessionId: int32({ from: 7, default: 0 }),
    sessionEpoch: int32({ from: 7, default: -1 }),
    topics: array(
      struct({
        topic: string({ to: 12 }),
        topicId: uuid({ from: 13 }),
        partitions: array(
          struct({
            partition: int32(),
            currentLeaderEpoch: int32({ from: 9, default: -1 }),
            fetchOffset: offset64(),
            lastFetchedEpoch: int32({ from: 12, default: -1 }),
            logStartOffset: offset64({ from: 5, default: -1 }),
            partitionMaxBytes: int32(),
            replicaDirectoryId: uuid({ from: 17, tag: 0 }),
            highWatermark: int64({ from: 18, default: NO_HIGH_WATERMARK, tag: 1 }),
          }),
        ),
      }),
    ),
    forgottenTopicsData: array(
      struct({ topic: string({ to: 12 }), topicId: uuid({ from: 13 }), partitions: array(int32()) }),
      { from: 7 },
    ),
    rackId: string({ from: 11, default: '' }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ from: 7, default: 0 }),
    sessionId: int32({ from: 7, default: 0 }),
    responses: array(
      struct({
        topic: string({ to: 12 }),
        topicId: uuid({ from: 13 }),
        partitions: array(
          struct({
            partitionIndex: int32(),
            errorCode: int16({ default: 0 }),
            highWatermark: offset64(),
            lastStableOffset: offset64({ default: -1 }),
            logStartOffset: offset64({ from: 5, default: -1 }),
            divergingEpoch: struct(
              { epoch: int32({ default: -1 }), endOffset: offset64({ default: -1 }) },
              { from: 12, tag: 0 },
            ),
            currentLeader: leaderIdAndEpoch({ from: 12, tag: 1 }),
            snapshotId: struct(
              { endOffset: offset64({ default: -1 }), epoch: int32({ default: -1 }) },
              { from: 12, tag: 2 },
            ),
            abortedTransactions: array(struct({ producerId: int64(), firstOffset: offset64() }), {
              nullableFrom: 4,
            }),
            preferredReadReplica: int32({ from: 11, default: -1 }),
            records: records({ nullableFrom: 0 }),
          }),
        ),
      }),
    ),
    nodeEndpoints: nodeEndpoints({ from: 16, tag: 0 }),
  },
});

export type FetchRequest = RequestOf<typeof fetchApi>;
export type FetchRequestInput = RequestInput<typeof fetchApi>;
export type FetchResponse = ResponseOf<typeof fetchApi>;
export type FetchResponseInput = ResponseInput<typeof fetchApi>;
