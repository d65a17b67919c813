import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { Cluster } from '../net/cluster.ts';
import { nameOf } from './failure.ts';
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
    return `${name}: ${cluster.name} answers ${errorName(topic.errorCode)} to Metadata; grant DESCRIBE on topic ${ref.topic}`;
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
