import type { Handler } from '../registry.ts';

/** OffsetForLeaderEpoch 2-4. v2 currentLeaderEpoch, v3 replica id, v4 flexible. From the leader only. */
const UNKNOWN_TOPIC = 3;
const NOT_LEADER = 6;
const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;

export const offsetForLeaderEpoch: Handler = {
  versions: [2, 4],
  flexibleFrom: 4,
  handle(input, output, { state, version, request, fail }) {
    if (version >= 3) input.i32();
    const topics = input.list(() => {
      const name = input.str();
      const partitions = input.list(() => {
        const index = input.i32();
        const current = input.i32();
        const epoch = input.i32();
        input.tags();
        return { index, current, epoch };
      });
      input.tags();
      return { name, partitions };
    });
    output.i32(0);
    output.list(topics, ({ name, partitions }) => {
      output.str(name);
      output.list(partitions, ({ index, current, epoch }) => {
        const partition = state.partition(name, index);
        const log = partition?.log;
        let code = fail ?? 0;
        if (code === 0 && log === undefined) code = UNKNOWN_TOPIC;
        else if (code === 0 && partition?.leader !== request.node) code = NOT_LEADER;
        else if (code === 0 && current >= 0 && log !== undefined && current < log.leaderEpoch)
          code = FENCED_LEADER_EPOCH;
        else if (code === 0 && log !== undefined && current > log.leaderEpoch) code = UNKNOWN_LEADER_EPOCH;
        const found = code === 0 ? log?.endOfEpoch(epoch) : undefined;
        output
          .i16(code)
          .i32(index)
          .i32(found?.epoch ?? -1)
          .i64(found?.end ?? -1)
          .tags();
      });
      output.tags();
    });
    output.tags();
    return { body: output };
  },
};
