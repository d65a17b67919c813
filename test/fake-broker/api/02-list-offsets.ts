import type { Handler } from '../registry.ts';

/**
 * ListOffsets 1-11. v2 isolation level, v4 leader epochs, v6 flexible, v10 time-out. Timestamp -1 is the end (high
 * watermark, or LSO when read_committed; log end for replica -2), -2 the start; any other answers the start.
 */
const UNKNOWN_TOPIC = 3;
const NOT_LEADER = 6;
const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;

export const listOffsets: Handler = {
  versions: [1, 11],
  flexibleFrom: 6,
  handle(input, output, { state, version, request, fail }) {
    const replica = input.i32();
    const committed = version >= 2 && input.i8() === 1;
    const topics = input.list(() => {
      const name = input.str();
      const partitions = input.list(() => {
        const index = input.i32();
        const epoch = version >= 4 ? input.i32() : -1;
        const timestamp = input.i64();
        input.tags();
        return { index, epoch, timestamp };
      });
      input.tags();
      return { name, partitions };
    });
    if (version >= 2) output.i32(0);
    output.list(topics, ({ name, partitions }) => {
      output.str(name);
      output.list(partitions, ({ index, epoch, timestamp }) => {
        const partition = state.partition(name, index);
        const log = partition?.log;
        let code = fail ?? 0;
        if (code === 0 && (partition === undefined || log === undefined)) code = UNKNOWN_TOPIC;
        else if (code === 0 && replica !== -2 && partition?.leader !== request.node) code = NOT_LEADER;
        else if (code === 0 && epoch >= 0 && log !== undefined && epoch < log.leaderEpoch)
          code = FENCED_LEADER_EPOCH;
        else if (code === 0 && log !== undefined && epoch > log.leaderEpoch) code = UNKNOWN_LEADER_EPOCH;
        const end =
          log === undefined
            ? -1
            : replica === -2
              ? log.end
              : committed
                ? log.lastStableOffset
                : log.highWatermark;
        const offset = code !== 0 ? -1 : timestamp === -1n ? end : (log?.logStart ?? -1);
        output.i32(index).i16(code).i64(-1).i64(offset);
        if (version >= 4) output.i32(code === 0 ? (log?.leaderEpoch ?? -1) : -1);
        output.tags();
      });
      output.tags();
    });
    output.tags();
    return { body: output };
  },
};
