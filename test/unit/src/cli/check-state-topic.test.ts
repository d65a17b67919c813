import { expect, test } from 'vitest';
import type { Reached } from '../../../../src/cli/check-cluster.ts';
import { stateTopicFaults } from '../../../../src/cli/check-rights.ts';
import { ErrorCode } from '../../../../protocol/errors.ts';

const state = { topic: '__mirror_state', partitions: 50, replicationFactor: 3 };

/** A cluster whose broker answers CreateTopics with this code. */
function answering(brokers: number, errorCode: number, errorMessage: string | null): Reached {
  const call = async (
    _api: unknown,
    { topics, validateOnly }: { topics: { name: string }[]; validateOnly: boolean },
  ) => {
    expect(validateOnly).toBe(true);
    return { topics: topics.map(({ name }) => ({ name, errorCode, errorMessage })) };
  };
  const cluster = {
    anyConnection: async () => ({ versions: new Map([[19, {}]]), call }),
    brokers: () => Array.from({ length: brokers }, (_, nodeId) => ({ nodeId })),
  };
  return { name: 'west', cluster } as unknown as Reached;
}

test('a state topic with more replicas than there are brokers is a fault before run meets it, with the way out', async () => {
  const at = answering(1, ErrorCode.INVALID_REPLICATION_FACTOR, 'only 1 broker');
  expect(await stateTopicFaults(at, state)).toEqual([
    {
      text:
        "topic __mirror_state can't be created on west: INVALID_REPLICATION_FACTOR (only 1 broker). Add brokers, or " +
        'set state: { replication.factor: 1 }',
    },
  ]);
});

test('one that is there, or would be created, is none; another refusal is told as the broker has it', async () => {
  expect(await stateTopicFaults(answering(1, ErrorCode.TOPIC_ALREADY_EXISTS, null), state)).toEqual([]);
  expect(await stateTopicFaults(answering(3, ErrorCode.NONE, null), state)).toEqual([]);
  expect(await stateTopicFaults(answering(3, ErrorCode.POLICY_VIOLATION, 'no'), state)).toEqual([
    { text: "topic __mirror_state can't be created on west: POLICY_VIOLATION (no)" },
  ]);
});
