import type { Handler } from '../registry.ts';

/** InitProducerId 0-5. v2 flexible, v3 sends the current id and epoch. A known transactional id gets the next epoch. */
export const initProducerId: Handler = {
  versions: [0, 5],
  flexibleFrom: 2,
  handle(input, output, { state, fail }) {
    const transactionalId = input.nstr();
    output.i32(0).i16(fail ?? 0);
    if (fail !== undefined) output.i64(-1).i16(-1);
    else {
      const known = transactionalId === null ? undefined : state.producers.get(transactionalId);
      const producer =
        known === undefined
          ? { producerId: state.nextProducerId++, epoch: 0 }
          : { producerId: known.producerId, epoch: known.epoch + 1 };
      if (transactionalId !== null) {
        state.producers.set(transactionalId, producer);
        state.transactions.delete(transactionalId);
      }
      output.i64(producer.producerId).i16(producer.epoch);
    }
    output.tags();
    return { body: output };
  },
};
