import type { Handler } from '../registry.ts';

/** DeleteTopics 1-6. v4 flexible, v5 error texts, v6 by name or id. */
const UNKNOWN_TOPIC = 3;
const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

export const deleteTopics: Handler = {
  versions: [1, 6],
  flexibleFrom: 4,
  handle(input, output, { state, version, fail }) {
    const asked = input.list(() => {
      const name = input.nstr();
      const topicId = version >= 6 ? input.uuid() : ZERO_ID;
      if (version >= 6) input.tags();
      return { name, topicId };
    });
    output.i32(0);
    output.list(asked, ({ name, topicId }) => {
      const topic = name === null ? state.topicById(topicId) : state.topics.get(name);
      if (topic !== undefined && fail === undefined) state.topics.delete(topic.name);
      output.str(topic?.name ?? name);
      if (version >= 6) output.uuid(topic?.topicId ?? topicId);
      output.i16(fail ?? (topic === undefined ? UNKNOWN_TOPIC : 0));
      if (version >= 5) output.str(null);
      output.tags();
    });
    output.tags();
    return { body: output };
  },
};
