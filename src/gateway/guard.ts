import { ErrorCode } from '../../protocol/errors.ts';
import { gatewayRefused } from '../observe/channels.ts';
import type { GuardedTopic, MirrorView } from './ports.ts';
import type { GatewayConfig } from './config.ts';

/**
 * The read-only guard: may a client's request touch this topic now? (DESIGN section 7, "read-only" and "freshness")
 *
 *   loading   nothing is known yet: the request waits
 *   stale     what we know may be old: topics with a mirror record get a retriable error, others pass
 *   fresh     a partition that is not STOPPED is read-only; the state topic always is
 *
 * Codes above 133 mean something else to some brokers' clients, so KIP-1279's 134 and 145 are used by configuration only.
 */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly topic: string;
}

export interface GuardServices {
  readonly view: MirrorView;
  readonly config: GatewayConfig;
}

/** undefined: may pass. */
export type Judgement = Refusal | undefined;

/** A write to one partition. Ask only when the view is loaded. */
export function judgeWrite({ view, config }: GuardServices, topic: string, partition: number): Judgement {
  if (topic === view.stateTopic) return stateTopicRefusal(topic);
  const guarded = view.topic(topic);
  if (guarded === undefined) return undefined;
  if (view.freshness(topic, partition) !== 'fresh') return staleRefusal(guarded);
  if (!guarded.isReadOnly(partition)) return undefined;
  return {
    code: config.readOnlyError === 'read-only-topic' ? ErrorCode.READ_ONLY_TOPIC : ErrorCode.POLICY_VIOLATION,
    message:
      `${topic}-${partition} is a read-only copy: mirror ${guarded.mirror} of cluster ${guarded.source} ` +
      `(state ${guarded.stateOf(partition)}). Write to ${guarded.source}, or fail the mirror over first.`,
    topic,
  };
}

/** An administrative change to a whole topic (partitions, configs, deletion, records). */
export function judgeChange({ view, config }: GuardServices, topic: string): Judgement {
  if (topic === view.stateTopic) return stateTopicRefusal(topic);
  const guarded = view.topic(topic);
  if (guarded === undefined) return undefined;
  if (view.freshness(topic) !== 'fresh') return staleRefusal(guarded);
  if (!guarded.readOnly) return undefined;
  return {
    code:
      config.readOnlyError === 'read-only-topic'
        ? ErrorCode.INVALID_CLUSTER_MIRROR_STATES
        : ErrorCode.POLICY_VIOLATION,
    message:
      `${topic} belongs to mirror ${guarded.mirror} of cluster ${guarded.source} and is not stopped: ` +
      'the mirror keeps its partitions, records and settings equal to the source. Stop or fail it over first.',
    topic,
  };
}

/** A change of a topic's settings. */
export function judgeSettings(services: GuardServices, topic: string): Judgement {
  const judgement = judgeChange(services, topic);
  const guarded = services.view.topic(topic);
  if (judgement !== undefined || guarded?.settingsPending !== true) return judgement;
  return {
    code: ErrorCode.POLICY_VIOLATION,
    message:
      `${topic} was stopped just now, and the settings that mirror ${guarded.mirror} had set are being given back: ` +
      'they would overwrite this change. Try again in a moment; describe shows it (configsPending).',
    topic,
  };
}

export const NOT_ATTEMPTED: Omit<Refusal, 'topic'> = {
  code: ErrorCode.OPERATION_NOT_ATTEMPTED,
  message: 'not attempted: another entry of the same request was refused',
};

/** A topic id of which nobody could tell the name: it may be a mirror topic's, so it is never let through. */
export function unknownIdRefusal(topicId: string): Refusal {
  const message = `no topic is known to have the id ${topicId}, or it could not be asked for; try again`;
  return { code: ErrorCode.UNKNOWN_TOPIC_ID, message, topic: topicId };
}

function stateTopicRefusal(topic: string): Refusal {
  return {
    code: ErrorCode.POLICY_VIOLATION,
    message: `${topic} is the internal state topic of the mirrors: only Isthmus writes and changes it`,
    topic,
  };
}

function staleRefusal(guarded: GuardedTopic): Refusal {
  return {
    code: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    message:
      `${guarded.name} belongs to mirror ${guarded.mirror}, whose state could not be read lately: ` +
      'whether it may be written is not known now; try again',
    topic: guarded.name,
  };
}

export function publishRefusal(
  config: GatewayConfig,
  who: { readonly clientAddress: string; readonly clientId: string | null },
  api: string,
  error: string,
  refusals: readonly Refusal[],
): void {
  if (!gatewayRefused.hasSubscribers) return;
  gatewayRefused.publish({
    gateway: config.name,
    clientAddress: who.clientAddress,
    clientId: who.clientId,
    api,
    error,
    reason: refusals[0]?.message ?? '',
    topics: [...new Set(refusals.map(({ topic }) => topic))],
  });
}
