import { ErrorCode, stockErrorName } from '../../../protocol/errors.ts';
import { createTopicsApi } from '../../../protocol/schema/19-create-topics.ts';
import { describeConfigsApi } from '../../../protocol/schema/32-describe-configs.ts';
import type { Cluster } from '../../net/cluster.ts';
import type { TopicMetadata } from '../../net/metadata.ts';
import { rightsAdvice } from '../rights-advice.ts';
import { type Attempt, persist } from './retry.ts';
import { StateUnusable } from './types.ts';

/** `state:` of the configuration. */
export interface StateTopicSettings {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

const ADMIN_LANE = 'state-admin';
const TIMEOUT_MS = 15_000;
const TOPIC_RESOURCE = 2;

/**
 * The state topic as it is, created when it is missing; partition 0 has a leader, and every other one when it is new.
 * @throws StateUnusable when it can't be created or is not what it must be; the message says what to do
 */
export async function ensureStateTopic(
  cluster: Cluster,
  settings: StateTopicSettings,
  signal: AbortSignal,
): Promise<TopicMetadata> {
  const what = `state topic ${settings.topic} on ${cluster.name}`;
  let created = false;
  return persist(what, signal, async (): Promise<Attempt<TopicMetadata>> => {
    await cluster.refresh([settings.topic]);
    const found = cluster.topic(settings.topic);
    if (found === undefined || found.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) {
      if (!created) await createStateTopic(cluster, settings, what);
      created = true;
      return { again: 'not in the metadata yet' };
    }
    const advice = rightsAdvice(
      found.errorCode,
      settings.topic,
      'READ,WRITE,DESCRIBE,DESCRIBE_CONFIGS,CREATE',
    );
    if (advice !== '') throw new StateUnusable(`${what}: ${stockErrorName(found.errorCode)}${advice}`);
    if (found.errorCode !== ErrorCode.NONE) return { again: stockErrorName(found.errorCode) };
    if (found.partitions.length !== settings.partitions) {
      if (created && found.partitions.length < settings.partitions)
        return { again: 'not all partitions yet' };
      throw new StateUnusable(
        `${what} has ${found.partitions.length} partitions and state.partitions is ${settings.partitions}. Their ` +
          `number may not change while the topic lives: set state: { partitions: ${found.partitions.length} }`,
      );
    }
    // one that was made long ago is gone on with as far as it can be read; without partition 0 there is no state
    const leaderless = found.partitions.filter(({ leader }) => leader < 0).map(({ partition }) => partition);
    if (leaderless.length > 0 && (created || leaderless.includes(0)))
      return { again: `no leader for partitions ${leaderless.join(', ')}` };
    if (!created) await checkCompacted(cluster, settings, what);
    return { done: found };
  });
}

async function createStateTopic(cluster: Cluster, settings: StateTopicSettings, what: string): Promise<void> {
  const { topic, partitions, replicationFactor } = settings;
  const brokers = cluster.brokers().length;
  if (replicationFactor > brokers) {
    throw new StateUnusable(
      `${what} can't be created: state.replication.factor is ${replicationFactor} and ${cluster.name} has ` +
        `${brokers} broker${brokers === 1 ? '' : 's'}. Add brokers, or set state: { replication.factor: ${brokers} }`,
    );
  }
  const connection = await cluster.anyConnection(ADMIN_LANE);
  const response = await connection.call(
    createTopicsApi,
    {
      topics: [
        {
          name: topic,
          numPartitions: partitions,
          replicationFactor,
          configs: topicConfigs(replicationFactor),
        },
      ],
      timeoutMs: TIMEOUT_MS,
    },
    { timeoutMs: TIMEOUT_MS * 2 },
  );
  const answer = response.topics[0];
  const code = answer?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
  if (code === ErrorCode.NONE || code === ErrorCode.TOPIC_ALREADY_EXISTS) return;
  // the controller may be changing: asked again by the caller's next round only if the topic is still missing
  if (code === ErrorCode.REQUEST_TIMED_OUT || code === ErrorCode.NOT_CONTROLLER) {
    throw new Error(stockErrorName(code));
  }
  const message = answer?.errorMessage ?? '';
  const advice = rightsAdvice(code, topic, 'CREATE,READ,WRITE,DESCRIBE,DESCRIBE_CONFIGS');
  throw new StateUnusable(
    `${what} can't be created: ${stockErrorName(code)}${message === '' ? '' : `: ${message}`}${advice}`,
  );
}

/**
 * Small segments, since only closed ones are compacted: a heartbeat a second would otherwise keep a week of itself
 * before every start.
 */
function topicConfigs(replicationFactor: number): { name: string; value: string }[] {
  const configs = {
    'cleanup.policy': 'compact',
    'compression.type': 'producer',
    'min.insync.replicas': replicationFactor >= 3 ? '2' : '1',
    'unclean.leader.election.enable': 'false',
    'segment.bytes': String(16 * 1024 * 1024),
    'max.message.bytes': String(1024 * 1024),
  };
  return Object.entries(configs).map(([name, value]) => ({ name, value }));
}

async function checkCompacted(cluster: Cluster, settings: StateTopicSettings, what: string): Promise<void> {
  const { topic } = settings;
  const connection = await cluster.anyConnection(ADMIN_LANE);
  const response = await connection.call(
    describeConfigsApi,
    {
      resources: [
        { resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: ['cleanup.policy'] },
      ],
    },
    { timeoutMs: TIMEOUT_MS },
  );
  const result = response.results[0];
  const code = result?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR;
  if (code !== ErrorCode.NONE) {
    const advice = rightsAdvice(code, topic, 'DESCRIBE_CONFIGS');
    if (advice !== '')
      throw new StateUnusable(`${what}: its settings can't be read: ${stockErrorName(code)}${advice}`);
    throw new Error(`its settings can't be read: ${stockErrorName(code)}`);
  }
  const policy = result?.configs.find(({ name }) => name === 'cleanup.policy')?.value ?? '';
  if (policy.trim() === 'compact') return;
  throw new StateUnusable(
    `${what} has cleanup.policy=${policy} and would lose states in time. If it is ours: kafka-configs --alter ` +
      `--entity-type topics --entity-name ${topic} --add-config cleanup.policy=compact; if it belongs to somebody ` +
      'else, name another one in state: { topic: … }',
  );
}
