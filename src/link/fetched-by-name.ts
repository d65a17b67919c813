import { ErrorCode } from '../../protocol/errors.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import type { BrokerConnection } from '../net/connection.ts';

/** From this version on a Fetch names topics by id, and the broker itself refuses one that was made anew. */
export const FETCH_BY_ID = 13;

/**
 * For sources before Kafka 3.1, whose Fetch goes by name: a topic deleted and made again answers as if nothing had
 * happened, offsets and leader epoch included. So the same broker is asked for the topics' ids right behind the Fetch,
 * on the same connection: it answers afterwards, with what it knows then.
 * @returns the names whose records may be another topic's
 */
export async function strangersBehind(
  connection: BrokerConnection,
  topics: readonly { readonly topic: string; readonly topicId: string }[],
  timeoutMs: number,
): Promise<ReadonlySet<string>> {
  const answer = await connection.call(
    metadataApi,
    { topics: topics.map(({ topic }) => ({ name: topic })), allowAutoTopicCreation: false },
    { timeoutMs },
  );
  const strangers = new Set(topics.map(({ topic }) => topic));
  for (const { name, topicId, errorCode } of answer.topics) {
    const meant = topics.find(({ topic }) => topic === name);
    if (meant !== undefined && errorCode === ErrorCode.NONE && topicId === meant.topicId) {
      strangers.delete(meant.topic);
    }
  }
  return strangers;
}
