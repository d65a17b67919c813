import { isRetriable, stockErrorName } from '../../protocol/errors.ts';
import type { Cluster } from '../net/cluster.ts';
import { AdminError, type NewTopic } from './ports.ts';
import { rightsAdvice } from './rights-advice.ts';
import type { ConfigChange } from './topic-settings.ts';

/**
 * Changes at a cluster by `@platformatic/kafka`'s Admin. This is its only home (DESIGN section 4). It is loaded at
 * the first change, because it costs 62 MB, and each change opens and closes its own connections: changes are rare.
 */
type Library = typeof import('@platformatic/kafka');
type Admin = InstanceType<Library['Admin']>;

const timeoutMs = 15_000;
const topicAlreadyExists = 36;

/** @returns false when a topic of that name exists already */
export async function createTopic(cluster: Cluster, topic: NewTopic): Promise<boolean> {
  try {
    await withAdmin(cluster, async (admin) => {
      await admin.createTopics({
        topics: [topic.name],
        partitions: topic.partitions,
        replicas: topic.replicationFactor === 0 ? -1 : topic.replicationFactor,
        configs: [...topic.configs].map(([name, value]) => ({ name, value })),
      });
    });
    return true;
  } catch (cause) {
    const answer = brokerAnswer(cause);
    if (answer?.code === topicAlreadyExists) return false;
    throw asAdminError(cluster, `create topic ${topic.name}`, topic.name, 'CREATE,ALTER_CONFIGS', cause);
  }
}

export async function alterTopicConfigs(
  cluster: Cluster,
  topic: string,
  changes: readonly ConfigChange[],
): Promise<void> {
  try {
    await withAdmin(cluster, async (admin, { ConfigResourceTypes, IncrementalAlterConfigOperationTypes }) => {
      await admin.incrementalAlterConfigs({
        resources: [
          {
            resourceType: ConfigResourceTypes.TOPIC,
            resourceName: topic,
            configs: changes.map(({ name, value }) =>
              value === null
                ? { name, configOperation: IncrementalAlterConfigOperationTypes.DELETE }
                : { name, value, configOperation: IncrementalAlterConfigOperationTypes.SET },
            ),
          },
        ],
      });
    });
  } catch (cause) {
    throw asAdminError(cluster, `set the configs of topic ${topic}`, topic, 'ALTER_CONFIGS', cause);
  }
}

export function bootstrapOf(cluster: Cluster): string[] {
  return cluster.bootstrap.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
}

async function withAdmin<T>(
  cluster: Cluster,
  work: (admin: Admin, library: Library) => Promise<T>,
): Promise<T> {
  const library = await import('@platformatic/kafka');
  const admin = new library.Admin({
    clientId: cluster.clientId,
    bootstrapBrokers: bootstrapOf(cluster),
    timeout: timeoutMs,
    retries: 2,
    autocreateTopics: false,
  });
  try {
    return await work(admin, library);
  } finally {
    await admin.close().catch(() => undefined);
  }
}

/** The first Kafka error code in the library's nested errors, with the broker's own words. */
function brokerAnswer(cause: unknown): { code: number; message: string } | null {
  if (typeof cause !== 'object' || cause === null) return null;
  const error = cause as { apiCode?: unknown; errors?: unknown; message?: unknown; response?: unknown };
  if (typeof error.apiCode === 'number') {
    return { code: error.apiCode, message: typeof error.message === 'string' ? error.message : '' };
  }
  for (const inner of Array.isArray(error.errors) ? error.errors : []) {
    const found = brokerAnswer(inner);
    if (found !== null) return found;
  }
  return null;
}

function asAdminError(
  cluster: Cluster,
  what: string,
  topic: string,
  operations: string,
  cause: unknown,
): AdminError {
  const answer = brokerAnswer(cause);
  if (answer === null) {
    const reason = cause instanceof Error ? deepest(cause) : String(cause);
    return new AdminError(`cluster ${cluster.name} did not ${what}: ${reason}`, -1, true);
  }
  const advice = rightsAdvice(answer.code, topic, operations);
  return new AdminError(
    `cluster ${cluster.name} refused to ${what}: ${stockErrorName(answer.code)} (${answer.message})${advice}`,
    answer.code,
    isRetriable(answer.code),
  );
}

function deepest(error: Error): string {
  const inner = (error as { errors?: unknown }).errors;
  const first = Array.isArray(inner) ? (inner as unknown[])[0] : undefined;
  return first instanceof Error ? deepest(first) : error.message;
}
