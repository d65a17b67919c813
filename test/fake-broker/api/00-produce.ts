import type { Handler } from '../registry.ts';
import type { FakePartition, FakeTopic } from '../state.ts';

/**
 * Produce 3-13. v9 flexible, v10 CurrentLeader and NodeEndpoints (KIP-951), v13 topic ids. acks=0 has no answer; when
 * a partition was refused the connection is closed instead, as a broker does.
 */
const NOT_LEADER = 6;
const UNKNOWN_TOPIC = 3;
const UNKNOWN_TOPIC_ID = 100;
const CODES = { CORRUPT_MESSAGE: 2, INVALID_RECORD: 87 } as const;

interface Answer {
  index: number;
  code: number;
  base: number;
  logStart: number;
  message: string | null;
  leader: { id: number; epoch: number } | undefined;
}

export const produce: Handler = {
  versions: [3, 13],
  flexibleFrom: 9,
  handle(input, output, { state, version, request, fail }) {
    input.nstr();
    const acks = input.i16();
    input.i32();
    const endpoints = new Set<number>();
    let refused = false;

    const one = (topic: FakeTopic | undefined, index: number, records: Buffer | null): Answer => {
      const partition = topic?.partitions[index];
      const answer: Answer = { index, code: 0, base: -1, logStart: -1, message: null, leader: undefined };
      if (fail !== undefined) answer.code = fail;
      else if (partition === undefined) answer.code = version >= 13 ? UNKNOWN_TOPIC_ID : UNKNOWN_TOPIC;
      else if (partition.leader !== request.node) {
        answer.code = NOT_LEADER;
        answer.leader = { id: partition.leader, epoch: partition.log.leaderEpoch };
        endpoints.add(partition.leader);
      } else append(partition, records ?? Buffer.alloc(0), answer);
      if (answer.code !== 0) refused = true;
      return answer;
    };
    const topics = input.list(() => {
      const key = version >= 13 ? input.uuid() : input.str();
      const topic = version >= 13 ? state.topicById(key) : state.topics.get(key);
      const partitions = input.list(() => {
        const index = input.i32();
        const records = input.bytes();
        input.tags();
        return one(topic, index, records);
      });
      input.tags();
      return { key, partitions };
    });
    if (acks === 0) return { body: null, close: refused };

    output.list(topics, ({ key, partitions }) => {
      if (version >= 13) output.uuid(key);
      else output.str(key);
      output.list(partitions, ({ index, code, base, logStart, message, leader }) => {
        output.i32(index).i16(code).i64(base).i64(-1);
        if (version >= 5) output.i64(logStart);
        if (version >= 8) output.list([], () => undefined).str(message);
        output.tags(
          version >= 10 && leader !== undefined
            ? [{ tag: 0, body: (out) => out.i32(leader.id).i32(leader.epoch).tags() }]
            : [],
        );
      });
      output.tags();
    });
    output.i32(0);
    const nodes = state.nodes.filter(({ id }) => endpoints.has(id));
    output.tags(
      version >= 10 && nodes.length > 0
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

function append(partition: FakePartition, records: Buffer, answer: Answer): void {
  const outcome = partition.log.appendFromClient(records);
  answer.logStart = partition.log.logStart;
  if ('base' in outcome) answer.base = outcome.base;
  else {
    answer.code = CODES[outcome.refused];
    answer.message = outcome.message;
  }
}
