import type { In } from '../wire.ts';
import type { Handler } from '../registry.ts';

/** AddPartitionsToTxn 0-5. v3 flexible, v4 batched by transaction. Checks nothing but that partitions exist. */
const UNKNOWN_TOPIC = 3;
const NOT_ATTEMPTED = 55;

interface Added {
  readonly name: string;
  readonly partitions: { index: number; code: number }[];
}

export const addPartitionsToTxn: Handler = {
  versions: [0, 5],
  flexibleFrom: 3,
  handle(input, output, { state, version, fail }) {
    const topics = (from: In): { name: string; partitions: number[] }[] =>
      from.list(() => {
        const name = from.str();
        const partitions = from.list(() => from.i32());
        from.tags();
        return { name, partitions };
      });
    const add = (transactionalId: string, asked: { name: string; partitions: number[] }[]): Added[] => {
      const missing = asked.some(({ name, partitions }) =>
        partitions.some((index) => !state.partition(name, index)),
      );
      const running = state.transactions.get(transactionalId) ?? new Set();
      state.transactions.set(transactionalId, running);
      return asked.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map((index) => {
          if (fail !== undefined) return { index, code: fail };
          if (missing)
            return {
              index,
              code: state.partition(name, index) === undefined ? UNKNOWN_TOPIC : NOT_ATTEMPTED,
            };
          running.add(`${name}/${index}`);
          return { index, code: 0 };
        }),
      }));
    };
    const write = (results: Added[]): void => {
      output.list(results, ({ name, partitions }) => {
        output.str(name);
        output.list(partitions, ({ index, code }) => output.i32(index).i16(code).tags());
        output.tags();
      });
    };

    output.i32(0);
    if (version >= 4) {
      const transactions = input.list(() => {
        const transactionalId = input.str();
        input.i64();
        input.i16();
        input.bool();
        const results = add(transactionalId, topics(input));
        input.tags();
        return { transactionalId, results };
      });
      output.i16(0).list(transactions, ({ transactionalId, results }) => {
        output.str(transactionalId);
        write(results);
        output.tags();
      });
    } else {
      const transactionalId = input.str();
      input.i64();
      input.i16();
      write(add(transactionalId, topics(input)));
    }
    output.tags();
    return { body: output };
  },
};
