import { afterEach, expect, test } from 'vitest';
import { metadata } from '../fake-broker/api/03-metadata.ts';
import { plainBatch } from '../fake-broker/index.ts';
import type { Handler } from '../fake-broker/registry.ts';
import type { ClusterState } from '../fake-broker/state.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * A broker cut off from the controller goes on telling who led when it was cut off. A client that asks always the same
 * broker believes it for ever.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

/** Node 1 tells the topics as they were when `freeze` was called. */
function staleNode(): { api: Handler; freeze(state: ClusterState): void } {
  let frozen: ClusterState | null = null;
  return {
    api: {
      ...metadata,
      handle: (input, output, context) =>
        metadata.handle(
          input,
          output,
          frozen !== null && context.request.node === 1 ? { ...context, state: frozen } : context,
        ),
    },
    freeze(state) {
      const topics = new Map(
        [...state.topics].map(([name, topic]) => [
          name,
          {
            ...topic,
            partitions: topic.partitions.map((partition) => ({
              ...partition,
              log: { leaderEpoch: partition.log.leaderEpoch },
            })),
          },
        ]),
      );
      frozen = Object.create(state, { topics: { value: topics } }) as ClusterState;
    },
  };
}

test.each(['source', 'destination'] as const)(
  'the %s leader moves, and one broker does not know',
  async (side) => {
    const stale = staleNode();
    one = await LinkUnderTest.start({ [side]: { brokers: 3, apis: { 3: stale.api } } });
    const cluster = one[side];
    cluster.setLeader('t', 0, 2);
    one.from().append(plainBatch(2));
    one.add();
    await one.mirrored();
    stale.freeze(cluster.state);
    cluster.setLeader('t', 0, 3);
    for (let i = 0; i < 3; i += 1) one.from().append(plainBatch(2));
    await until('it goes on at the new leader', () => one.to().end === 8);
    await one.mirrored();
    one.expectEqual();
    expect(one.failures).toEqual([]);
  },
);

/** Node 1, always the last to answer, knows another topic of that name, or none. */
function lateNode(known: 'nothing' | 'an older topic'): Handler {
  return {
    ...metadata,
    async handle(input, output, context) {
      if (context.request.node !== 1) return metadata.handle(input, output, context);
      await new Promise((resolve) => setTimeout(resolve, 15));
      const topics = new Map(
        known === 'nothing'
          ? []
          : [...context.state.topics].map(([name, topic]) => [
              name,
              { ...topic, topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' },
            ]),
      );
      const state = Object.create(context.state, { topics: { value: topics } }) as ClusterState;
      return metadata.handle(input, output, { ...context, state });
    },
  };
}

test.each([
  ['source', 'nothing'],
  ['source', 'an older topic'],
  ['destination', 'nothing'],
  ['destination', 'an older topic'],
] as const)(
  'one broker of the %s was cut off before the topic was made and knows %s',
  async (side, known) => {
    const topics = [{ name: 't', partitions: 1 }];
    one = await LinkUnderTest.start({ [side]: { brokers: 3, topics, apis: { 3: lateNode(known) } } });
    one[side].setLeader('t', 0, 2);
    const topicId = one[side].state.topics.get('t')?.topicId ?? '';
    one.from().append(plainBatch(2));
    one.add(0, side === 'source' ? { sourceTopicId: topicId } : { destinationTopicId: topicId });
    await until('it is mirrored', () => one.failures.length > 0 || one.to().end === 2);
    expect(one.failures).toEqual([]);
  },
);
