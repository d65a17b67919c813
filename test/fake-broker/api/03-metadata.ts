import type { Handler } from '../registry.ts';
import type { FakeTopic } from '../state.ts';

/**
 * Metadata 0-13. v1 null = all topics, v8 authorized operations, v9 flexible, v10 topic ids, v12 lookup by id, v13
 * top-level error. Topics are never created by it.
 */
const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
const UNKNOWN_TOPIC_ID = 100;
const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const ALL_TOPIC_OPERATIONS = 0x0df8;
const NOT_ASKED = -2147483648;

export const metadata: Handler = {
  versions: [0, 13],
  flexibleFrom: 9,
  handle(input, output, { state, version, fail }) {
    const asked = input.nlist(() => {
      const topicId = version >= 10 ? input.uuid() : ZERO_ID;
      const name = input.nstr();
      input.tags();
      return { topicId, name };
    });
    if (version >= 4) input.bool();
    const clusterOperations = version >= 8 && version <= 10 && input.bool();
    const topicOperations = version >= 8 && input.bool();

    const all = asked === null || (version === 0 && asked.length === 0);
    const found = all
      ? [...state.topics.values()].map((topic) => ({ topic, name: topic.name, topicId: topic.topicId }))
      : asked.map(({ name, topicId }) => ({
          topic: name === null ? state.topicById(topicId) : state.topics.get(name),
          name,
          topicId,
        }));

    if (version >= 3) output.i32(0);
    output.list(state.nodes, ({ id, host, port }) => {
      output.i32(id).str(host).i32(port);
      if (version >= 1) output.str(null);
      output.tags();
    });
    if (version >= 2) output.str(state.clusterId);
    if (version >= 1) output.i32(state.nodes[0]?.id ?? -1);
    output.list(found, ({ topic, name, topicId }) => {
      const missing = name === null ? UNKNOWN_TOPIC_ID : UNKNOWN_TOPIC;
      output.i16(fail ?? (topic === undefined ? missing : 0)).str(topic?.name ?? name);
      if (version >= 10) output.uuid(topic?.topicId ?? topicId);
      if (version >= 1) output.bool(false);
      partitions(topic);
      if (version >= 8) {
        output.i32(
          topicOperations
            ? (state.topicOperations.get(topic?.name ?? '') ?? ALL_TOPIC_OPERATIONS)
            : NOT_ASKED,
        );
      }
      output.tags();
    });
    if (version >= 8 && version <= 10) output.i32(clusterOperations ? state.clusterOperations : NOT_ASKED);
    if (version >= 13) output.i16(0);
    output.tags();
    return { body: output };

    function partitions(topic: FakeTopic | undefined): void {
      const indexed = (fail === undefined ? (topic?.partitions ?? []) : []).map((one, index) => ({
        ...one,
        index,
      }));
      output.list(indexed, ({ index, leader, replicas, log }) => {
        output
          .i16(leader < 0 ? LEADER_NOT_AVAILABLE : 0)
          .i32(index)
          .i32(leader);
        if (version >= 7) output.i32(log.leaderEpoch);
        output.list(replicas, (id) => output.i32(id)).list(replicas, (id) => output.i32(id));
        if (version >= 5) output.list([] as number[], (id) => output.i32(id));
        output.tags();
      });
    }
  },
};
