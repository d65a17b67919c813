import type { Findings } from './findings.ts';
import { isKnown } from './known.ts';
import { stateSchema } from './schema.ts';
import { readShape } from './shape.ts';
import type { StateConfig } from './types.ts';
import type { Tree } from './yaml-tree.ts';

const DEFAULTS: StateConfig = { topic: '__mirror_state', partitions: 50, replicationFactor: 3 };

/** Internal topics that are Kafka's own: a record of ours in one of them would break the cluster. */
const OF_KAFKA = new Set([
  '__consumer_offsets',
  '__transaction_state',
  '__share_group_state',
  '__cluster_metadata',
  '__remote_log_metadata',
]);

/** The state topic; null when a fault stands in its way. */
export function readState(tree: Tree | undefined, findings: Findings): StateConfig | null {
  if (tree === undefined) return DEFAULTS;
  const state = readShape(stateSchema, tree, ['state'], findings);
  if (!isKnown(state)) return null;
  const { topic = DEFAULTS.topic, partitions = DEFAULTS.partitions } = state;
  const { 'replication.factor': replicationFactor = DEFAULTS.replicationFactor } = state;
  if (isKnown(topic)) {
    const message = topicFault(topic);
    if (message !== null) findings.fault(['state', 'topic'], message);
  }
  if (!isKnown(topic) || !isKnown(partitions) || !isKnown(replicationFactor)) return null;
  return { topic, partitions, replicationFactor };
}

function topicFault(topic: string): string | null {
  if (!/^__[a-zA-Z0-9._-]{1,247}$/.test(topic)) {
    return 'the state topic is internal: its name begins with "__" and has letters, digits, ".", "_" and "-"';
  }
  return OF_KAFKA.has(topic) ? `${topic} is a topic of Kafka's own; leave it out for __mirror_state` : null;
}
