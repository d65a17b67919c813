/** EndTxn, key 26. From version 5 the answer carries the bumped epoch, or a new id (KIP-890). Source: protocol guide. */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { bool, int16, int32, int64, string } from './notation.ts';

export const endTxnApi = defineApi({
  key: 26,
  name: 'EndTxn',
  versions: [0, 5],
  flexibleFrom: 3,

  request: { transactionalId: string(), producerId: int64(), producerEpoch: int16(), committed: bool() },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ default: 0 }),
    producerId: int64({ from: 5, default: -1n }),
    producerEpoch: int16({ from: 5, default: -1 }),
  },
});

export type EndTxnRequest = RequestOf<typeof endTxnApi>;
export type EndTxnRequestInput = RequestInput<typeof endTxnApi>;
export type EndTxnResponse = ResponseOf<typeof endTxnApi>;
export type EndTxnResponseInput = ResponseInput<typeof endTxnApi>;
