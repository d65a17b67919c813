import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { aclCommand } from '../net/acl-command.ts';
import type { Cluster } from '../net/cluster.ts';
import { LinkFailureError, linkFailure, nameOf } from './failure.ts';
import type { TopicMetadata } from '../net/metadata.ts';
import type { PartitionRef } from './ports.ts';

/**
 * Why `leaderOf` knows no leader, for people: "no leader" sends them to the brokers, and often it is a right that is
 * missing or a topic with fewer partitions.
 */
export function whyNoLeader(cluster: Cluster, ref: PartitionRef): string {
  const topic = cluster.topic(ref.topic);
  const name = nameOf(ref);
  if (topic === undefined) return `${name}: ${cluster.name} has told nothing of the topic yet`;
  if (topic.errorCode === ErrorCode.TOPIC_AUTHORIZATION_FAILED) {
    return `${name}: ${cluster.name} answers ${errorName(topic.errorCode)} to Metadata; grant DESCRIBE on topic ${ref.topic}: ${aclCommand(['DESCRIBE'], `--topic '${ref.topic}'`)}`;
  }
  if (topic.errorCode !== ErrorCode.NONE) {
    return `${name}: ${cluster.name} answers ${errorName(topic.errorCode)} to Metadata of topic ${ref.topic}`;
  }
  const partition = topic.partitions[ref.partition];
  if (partition === undefined) {
    return `${name}: topic ${ref.topic} on ${cluster.name} has only ${topic.partitions.length} partitions`;
  }
  const offline = partition.replicas.length > 0 ? ` (replicas ${partition.replicas.join(', ')})` : '';
  return `${name} has no leader on ${cluster.name}${offline}`;
}

/** A topic just made, or a broker just started, may not know it yet: only what stays unknown so long is gone. */
export const GONE_AFTER_MS = 10_000;

/** A topic that the cluster doesn't know, perhaps only not yet. */
export class TopicGoneError extends Error {
  override readonly name = 'TopicGoneError';
  readonly #ref: PartitionRef;

  constructor(ref: PartitionRef, cluster: string) {
    super(`${cluster} does not know topic ${ref.topic}`);
    this.#ref = ref;
  }

  asFailure(code: 'topic-recreated' | 'source-topic-gone' = 'topic-recreated'): LinkFailureError {
    const message = `${nameOf(this.#ref)}: ${this.message} any more; it was deleted there, data on the other side is kept`;
    return new LinkFailureError(linkFailure(code, message, null));
  }
}

export function recreated(ref: PartitionRef, cluster: string, expected: string, found: string) {
  return linkFailure(
    'topic-recreated',
    `${nameOf(ref)}: topic ${ref.topic} on ${cluster} has id ${found}, but the mirror was made for id ${expected}: it was deleted and created again; stop the mirror, or rebuild the topic`,
    null,
  );
}

/**
 * What metadata holds of the topic, if it is the one that is meant.
 * @param topicId undefined: whatever topic has the name
 * @throws TopicGoneError; LinkFailureError topic-recreated
 */
export function knownTopic(cluster: Cluster, ref: PartitionRef, topicId: string | undefined): TopicMetadata {
  const topic = cluster.topic(ref.topic);
  if (topic === undefined || topic.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) {
    throw new TopicGoneError(ref, cluster.name);
  }
  if (topicId !== undefined && topic.topicId !== topicId && topic.errorCode === 0) {
    throw new LinkFailureError(recreated(ref, cluster.name, topicId, topic.topicId));
  }
  return topic;
}

/**
 * As `knownTopic`, with fresh metadata: of one broker, and of all when that one knows something else. It may be cut
 * off since before the topic was made.
 */
export async function freshTopic(
  cluster: Cluster,
  ref: PartitionRef,
  topicId: string | undefined,
  timeoutMs: number,
): Promise<TopicMetadata> {
  await cluster.refresh([ref.topic]);
  try {
    return knownTopic(cluster, ref, topicId);
  } catch {
    await cluster.leaderEpochFromAll([ref.topic], timeoutMs);
    return knownTopic(cluster, ref, topicId);
  }
}
