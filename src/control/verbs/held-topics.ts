import { ErrorCode } from '../../../protocol/errors.ts';
import {
  type MirrorRecord,
  type StateView,
  type TopicError,
  type TopicRecord,
  partitionKey,
} from '../state/types.ts';
import { chosenOf, parseTopicChoice } from '../topic-choice.ts';
import { topicError } from './types.ts';

/**
 * A topic has one mirror. What our own records say of a topic that is to begin: free, mirrored already (a repeated
 * start does nothing), or why not.
 */
export function standingOf(
  view: StateView,
  mirror: MirrorRecord,
  name: string,
): 'free' | 'mirrored' | TopicError {
  const topic = view.topics.get(name);
  if (topic === undefined || topic.mirror === null) return namedElsewhere(view, mirror, name) ?? 'free';
  if (topic.mirror !== mirror.name) return heldElsewhere(view, topic, topic.mirror);
  if (isStopped(view, topic)) {
    return topicError(
      name,
      ErrorCode.INVALID_CLUSTER_MIRROR_STATES,
      `${name} is STOPPED: its barrier stands where the source goes on, so starting it again needs rebuild, which ` +
        `comes later; ${wayOut(mirror.name, name)}`,
    );
  }
  if (topic.desired !== 'MIRRORING') {
    return topicError(name, ErrorCode.MIRROR_TOPIC_NOT_STOPPED, `${name} is being stopped`);
  }
  return 'mirrored';
}

/**
 * What a new mirror may not name, one error for each: a topic that another mirror holds, or that another's include
 * list names literally. Patterns are judged when they are started, against the topics there are then.
 */
export function takenNames(
  view: StateView,
  mirror: string,
  topics: { readonly include: readonly string[]; readonly exclude: readonly string[] },
): TopicError[] {
  const left = chosenOf(parseTopicChoice(topics.exclude), topics.include);
  return parseTopicChoice(topics.include).literals.flatMap((name) => {
    if (left.has(name)) return [];
    const topic = view.topics.get(name);
    const holder = topic?.mirror ?? null;
    const error =
      topic !== undefined && holder !== null && holder !== mirror
        ? heldElsewhere(view, topic, holder)
        : namedBy(view, mirror, name);
    return error === null ? [] : [error];
  });
}

function heldElsewhere(view: StateView, topic: TopicRecord, holder: string): TopicError {
  const name = topic.topic;
  if (!isStopped(view, topic)) {
    return topicError(name, ErrorCode.TOPIC_ALREADY_IN_CLUSTER_MIRROR, `${name} belongs to mirror ${holder}`);
  }
  return topicError(
    name,
    ErrorCode.INVALID_CLUSTER_MIRROR_STATES,
    `${name} is STOPPED in mirror ${holder}; taking it over needs reverse or rebuild, which come later; ` +
      wayOut(holder, name),
  );
}

/** All is copied anew: the only way there is until `rebuild`. */
function wayOut(holder: string, topic: string): string {
  return (
    `what works now copies it all anew: delete topic ${topic} at the destination and mirror ${holder} (all its topics ` +
    'must be STOPPED), then create and start it again'
  );
}

/** First come where both name it: such records are older than this rule. */
function namedElsewhere(view: StateView, mirror: MirrorRecord, name: string): TopicError | null {
  return mirror.topics.include.includes(name) ? null : namedBy(view, mirror.name, name);
}

function namedBy(view: StateView, mirror: string, name: string): TopicError | null {
  for (const other of view.mirrors.values()) {
    if (other.name === mirror || other.deletedAt !== null || !other.topics.include.includes(name)) continue;
    if (chosenOf(parseTopicChoice(other.topics.exclude), [name]).has(name)) continue;
    return topicError(
      name,
      ErrorCode.TOPIC_ALREADY_IN_CLUSTER_MIRROR,
      `${name} is named by the include list of mirror ${other.name}; a topic has one mirror`,
    );
  }
  return null;
}

function isStopped(view: StateView, topic: TopicRecord): boolean {
  if (topic.desired !== 'STOPPED') return false;
  for (let partition = 0; partition < topic.partitions; partition++) {
    const record = view.partitions.get(partitionKey(topic.topic, partition));
    if (record !== undefined && record.state !== 'STOPPED') return false;
  }
  return true;
}
