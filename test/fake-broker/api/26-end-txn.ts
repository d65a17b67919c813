import { makeMarker } from '../batch.ts';
import type { Handler } from '../registry.ts';

/** EndTxn 0-4: writes a marker into every partition added to the transaction. v3 flexible. */
const INVALID_TXN_STATE = 48;

export const endTxn: Handler = {
  versions: [0, 4],
  flexibleFrom: 3,
  handle(input, output, { state, fail }) {
    const transactionalId = input.str();
    const producerId = input.i64();
    const producerEpoch = input.i16();
    const commit = input.bool();
    const running = state.transactions.get(transactionalId);
    const code = fail ?? (running === undefined ? INVALID_TXN_STATE : 0);
    if (code === 0) {
      state.transactions.delete(transactionalId);
      for (const entry of running ?? []) {
        const slash = entry.lastIndexOf('/');
        const partition = state.partition(entry.slice(0, slash), Number(entry.slice(slash + 1)));
        partition?.log.append(makeMarker({ producerId, producerEpoch, commit, coordinatorEpoch: 0 }));
      }
    }
    output.i32(0).i16(code).tags();
    return { body: output };
  },
};
