/**
 * InitProducerId, key 22. Versions from 3 on name the producer to go on with (KIP-360); 6 adds two-phase commit (KIP-939).
 * Source: protocol guide; 4.4.0 for 6.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { bool, int16, int32, int64, string } from './notation.ts';

export const initProducerIdApi = defineApi({
  key: 22,
  name: 'InitProducerId',
  versions: [0, 6],
  flexibleFrom: 2,

  request: {
    transactionalId: string({ nullableFrom: 0, default: null }),
    transactionTimeoutMs: int32(),
    producerId: int64({ from: 3, default: -1n }),
    producerEpoch: int16({ from: 3, default: -1 }),
    enable2Pc: bool({ from: 6, default: false }),
    keepPreparedTxn: bool({ from: 6, default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ default: 0 }),
    producerId: int64({ default: -1n }),
    producerEpoch: int16({ default: 0 }),
    ongoingTxnProducerId: int64({ from: 6, default: -1n }),
    ongoingTxnProducerEpoch: int16({ from: 6, default: -1 }),
  },
});

export type InitProducerIdRequest = RequestOf<typeof initProducerIdApi>;
export type InitProducerIdRequestInput = RequestInput<typeof initProducerIdApi>;
export type InitProducerIdResponse = ResponseOf<typeof initProducerIdApi>;
export type InitProducerIdResponseInput = ResponseInput<typeof initProducerIdApi>;
