import type { Handler } from '../registry.ts';
import type { FakePartition } from '../state.ts';

/**
 * Fetch 4-18. v7 sessions (always answered with session 0, so clients send full requests), v9 currentLeaderEpoch,
 * v11 rack and preferred replica, v12 flexible, LastFetchedEpoch and DivergingEpoch, v13 topic ids, v15 replica id in
 * a tag, v16 NodeEndpoints.
 */
const OFFSET_OUT_OF_RANGE = 1;
const UNKNOWN_TOPIC = 3;
const NOT_LEADER = 6;
const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;
const UNKNOWN_TOPIC_ID = 100;

interface Asked {
  readonly index: number;
  readonly currentLeaderEpoch: number;
  readonly offset: number;
  readonly lastFetchedEpoch: number;
  readonly maxBytes: number;
}

interface Answer {
  readonly index: number;
  readonly code: number;
  readonly partition: FakePartition | undefined;
  readonly records: Buffer | null;
  readonly aborted: readonly { producerId: bigint; firstOffset: number }[] | null;
  readonly diverging: { epoch: number; end: number } | undefined;
}

export const fetch: Handler = {
  versions: [4, 18],
  flexibleFrom: 12,
  async handle(input, output, { state, version, request, fail, closed }) {
    if (version <= 14) input.i32();
    const maxWaitMs = input.i32();
    const minBytes = input.i32();
    const maxBytes = input.i32();
    const committed = input.i8() === 1;
    if (version >= 7) {
      input.i32();
      input.i32();
    }
    const topics = input.list(() => {
      const key = version >= 13 ? input.uuid() : input.str();
      const partitions = input.list((): Asked => {
        const index = input.i32();
        const currentLeaderEpoch = version >= 9 ? input.i32() : -1;
        const offset = Number(input.i64());
        const lastFetchedEpoch = version >= 12 ? input.i32() : -1;
        if (version >= 5) input.i64();
        const limit = input.i32();
        input.tags();
        return { index, currentLeaderEpoch, offset, lastFetchedEpoch, maxBytes: limit };
      });
      input.tags();
      return { key, partitions };
    });

    let left = maxBytes;
    const read = (key: string, asked: Asked): Answer => {
      const topic = version >= 13 ? state.topicById(key) : state.topics.get(key);
      const partition = topic?.partitions[asked.index];
      const none = { index: asked.index, partition, records: null, aborted: null, diverging: undefined };
      if (fail !== undefined) return { ...none, code: fail };
      if (partition === undefined) return { ...none, code: version >= 13 ? UNKNOWN_TOPIC_ID : UNKNOWN_TOPIC };
      if (partition.leader !== request.node) return { ...none, code: NOT_LEADER };
      const { log } = partition;
      const epoch = asked.currentLeaderEpoch;
      if (epoch >= 0 && epoch < log.leaderEpoch) return { ...none, code: FENCED_LEADER_EPOCH };
      if (epoch > log.leaderEpoch) return { ...none, code: UNKNOWN_LEADER_EPOCH };
      if (asked.lastFetchedEpoch >= 0) {
        const found = log.endOfEpoch(asked.lastFetchedEpoch) ?? { epoch: -1, end: -1 };
        if (found.epoch < asked.lastFetchedEpoch || found.end < asked.offset) {
          return { ...none, code: 0, records: Buffer.alloc(0), diverging: found };
        }
      }
      if (asked.offset < log.logStart || asked.offset > log.end)
        return { ...none, code: OFFSET_OUT_OF_RANGE };
      const limit = committed ? log.lastStableOffset : log.highWatermark;
      const records =
        left <= 0 ? Buffer.alloc(0) : log.read(asked.offset, limit, Math.min(left, asked.maxBytes));
      left -= records.length;
      const aborted = committed ? log.abortedIn(asked.offset, limit) : null;
      return { ...none, code: 0, records, aborted };
    };
    const readAll = (): { key: string; partitions: Answer[] }[] => {
      left = maxBytes;
      return topics.map(({ key, partitions }) => ({
        key,
        partitions: partitions.map((asked) => read(key, asked)),
      }));
    };

    const until = performance.now() + maxWaitMs;
    let answers = readAll();
    const enough = (): boolean =>
      maxBytes - left >= Math.max(1, minBytes) ||
      answers.some(({ partitions }) =>
        partitions.some((one) => one.code !== 0 || one.diverging !== undefined),
      );
    while (!enough() && performance.now() < until && !closed()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      answers = readAll();
    }

    output.i32(0);
    if (version >= 7) output.i16(0).i32(0);
    const endpoints = new Set<number>();
    output.list(answers, ({ key, partitions }) => {
      if (version >= 13) output.uuid(key);
      else output.str(key);
      output.list(partitions, ({ index, code, partition, records, aborted, diverging }) => {
        const log = code === 0 ? partition?.log : undefined;
        output.i32(index).i16(code);
        output.i64(log?.highWatermark ?? -1).i64(log?.lastStableOffset ?? -1);
        if (version >= 5) output.i64(log?.logStart ?? -1);
        output.list(aborted, ({ producerId, firstOffset }) => output.i64(producerId).i64(firstOffset).tags());
        if (version >= 11) output.i32(-1);
        output.bytes(records ?? (version >= 12 ? Buffer.alloc(0) : null));
        const tags: { tag: number; body: (out: typeof output) => void }[] = [];
        if (diverging !== undefined) {
          tags.push({ tag: 0, body: (out) => out.i32(diverging.epoch).i64(diverging.end).tags() });
        }
        if (code === NOT_LEADER && partition !== undefined && version >= 12) {
          endpoints.add(partition.leader);
          const { leader, log: other } = partition;
          tags.push({ tag: 1, body: (out) => out.i32(leader).i32(other.leaderEpoch).tags() });
        }
        output.tags(tags);
      });
      output.tags();
    });
    const nodes = state.nodes.filter(({ id }) => endpoints.has(id));
    output.tags(
      version >= 16 && nodes.length > 0
        ? [
            {
              tag: 0,
              body: (out) =>
                out.list(nodes, ({ id, host, port }) => out.i32(id).str(host).i32(port).str(null).tags()),
            },
          ]
        : [],
    );
    return { body: output };
  },
};
