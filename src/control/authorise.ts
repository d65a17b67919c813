import { ErrorCode } from '../../protocol/errors.ts';
import type { CallerRights } from '../gateway/ports.ts';
import { aclCommand } from '../net/acl-command.ts';
import { Refused } from './verbs/types.ts';

/** AclOperation codes of Kafka: bit n of an authorized-operations field. */
const ALTER = 7;
const DESCRIBE = 8;
const ALTER_CONFIGS = 11;

/**
 * The broker's own answer about the caller decides (DESIGN section 6): no right of ours is lent.
 * @throws Refused 144 when a Cluster right is missing
 */
export async function authoriseChange(rights: CallerRights): Promise<void> {
  await needCluster(rights, ALTER, 'ALTER');
}

/** @throws Refused 144 */
export async function authoriseReading(rights: CallerRights): Promise<void> {
  await needCluster(rights, DESCRIBE, 'DESCRIBE');
}

/**
 * @param isThere asked of a topic that the caller is not told of: it may not exist, or not be shown to the caller
 * @throws Refused 29 naming the topics, of those that exist, whose configs the caller may not alter
 */
export async function authoriseTopics(
  rights: CallerRights,
  topics: readonly string[],
  isThere: (topic: string) => Promise<boolean>,
): Promise<void> {
  if (topics.length === 0) return;
  const operations = await rights.topics(topics);
  const denied: string[] = [];
  for (const topic of topics) {
    const told = operations.get(topic);
    if (told === undefined ? await isThere(topic) : !has(told, ALTER_CONFIGS)) denied.push(topic);
  }
  if (denied.length === 0) return;
  throw new Refused(
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    `the caller lacks ALTER_CONFIGS on ${denied.join(', ')}; grant it with: ` +
      aclCommand(['ALTER_CONFIGS'], `--topic '${denied[0]}'`),
  );
}

async function needCluster(rights: CallerRights, operation: number, name: string): Promise<void> {
  if (has(await rights.cluster(), operation)) return;
  throw new Refused(
    ErrorCode.CLUSTER_MIRROR_AUTHORIZATION_FAILED,
    `the caller lacks ${name} on the cluster; grant it with: ${aclCommand([name], '--cluster')}`,
  );
}

/** The minimum of int32 means "not told": no right follows from it. */
function has(operations: number, operation: number): boolean {
  return operations !== -0x8000_0000 && (operations & (1 << operation)) !== 0;
}
