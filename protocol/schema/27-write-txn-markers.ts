/**
 * WriteTxnMarkers, key 27. `transactionResult` true is COMMIT. Version 2 (KIP-1228) names the transaction version,
 * from 2 on of which a broker demands a newer producer epoch. Source: protocol guide; 4.4.0 for 2.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, bool, int8, int16, int32, int64, string, struct } from './notation.ts';

export const writeTxnMarkersApi = defineApi({
  key: 27,
  name: 'WriteTxnMarkers',
  versions: [0, 2],
  flexibleFrom: 1,
  request: {
    markers: array(
      struct({
        producerId: int64(),
        producerEpoch: int16(),
        transactionResult: bool(),
        topics: array(struct({ name: string(), partitionIndexes: array(int32()) })),
        coordinatorEpoch: int32(),
        transactionVersion: int8({ from: 2, default: 0 }),
      }),
    ),
  },
  response: {
    markers: array(
      struct({
        producerId: int64(),
        topics: array(
          struct({
            name: string(),
            partitions: array(struct({ partitionIndex: int32(), errorCode: int16() })),
          }),
        ),
      }),
    ),
  },
});

export type WriteTxnMarkersRequest = RequestOf<typeof writeTxnMarkersApi>;
export type WriteTxnMarkersRequestInput = RequestInput<typeof writeTxnMarkersApi>;
export type WriteTxnMarkersResponse = ResponseOf<typeof writeTxnMarkersApi>;
export type WriteTxnMarkersResponseInput = ResponseInput<typeof writeTxnMarkersApi>;
