import { makeMarker } from '../batch.ts';
import type { Handler } from '../registry.ts';

/**
 * WriteTxnMarkers 0-2. v1 flexible, v2 transaction version. As stock brokers do (reference/trials.md): one offset each,
 * in order; producer id or epoch -1 makes every entry report UNKNOWN_SERVER_ERROR though earlier markers stand;
 * answers of one id are merged; the same partition twice inside one marker is appended once and never answered.
 */
const UNKNOWN_SERVER_ERROR = -1;
const UNKNOWN_TOPIC = 3;
const NOT_LEADER = 6;

export const writeTxnMarkers: Handler = {
  versions: [0, 2],
  flexibleFrom: 1,
  handle(input, output, { state, version, request, fail }) {
    const markers = input.list(() => {
      const producerId = input.i64();
      const producerEpoch = input.i16();
      const commit = input.bool();
      const topics = input.list(() => {
        const name = input.str();
        const partitions = input.list(() => input.i32());
        input.tags();
        return { name, partitions };
      });
      const coordinatorEpoch = input.i32();
      if (version >= 2) input.i8();
      input.tags();
      return { producerId, producerEpoch, commit, topics, coordinatorEpoch };
    });

    const merged = new Map<bigint, Map<string, Map<number, number>>>();
    let broken = false;
    let silent = false;
    for (const { producerId, producerEpoch, commit, topics, coordinatorEpoch } of markers) {
      broken ||= producerId === -1n || producerEpoch === -1;
      const answer = merged.get(producerId) ?? new Map<string, Map<number, number>>();
      merged.set(producerId, answer);
      const seen = new Set<string>();
      for (const { name, partitions } of topics) {
        const codes = answer.get(name) ?? new Map<number, number>();
        answer.set(name, codes);
        for (const index of partitions) {
          const key = `${name}/${index}`;
          if (seen.has(key)) {
            silent = true;
            continue;
          }
          seen.add(key);
          const partition = state.partition(name, index);
          let code = fail ?? 0;
          if (code === 0 && partition === undefined) code = UNKNOWN_TOPIC;
          else if (code === 0 && partition?.leader !== request.node) code = NOT_LEADER;
          else if (code === 0 && !broken) {
            partition?.log.append(makeMarker({ producerId, producerEpoch, commit, coordinatorEpoch }));
          }
          codes.set(index, code);
        }
      }
    }
    if (silent) return { body: null };
    output.list([...merged], ([producerId, topics]) => {
      output.i64(producerId);
      output.list([...topics], ([name, codes]) => {
        output.str(name);
        output.list([...codes], ([index, code]) => {
          output
            .i32(index)
            .i16(broken ? UNKNOWN_SERVER_ERROR : code)
            .tags();
        });
        output.tags();
      });
      output.tags();
    });
    output.tags();
    return { body: output };
  },
};
