import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { createTopicsApi } from '../../protocol/schema/19-create-topics.ts';
import { endTxnApi } from '../../protocol/schema/26-end-txn.ts';
import { describeClusterApi } from '../../protocol/schema/60-describe-cluster.ts';
import type { StateConfig } from '../config/types.ts';
import { transactionalIdsOfIsthmus } from '../net/acl-command.ts';
import type { Reached } from './check-cluster.ts';
import type { CheckReport } from './check-report.ts';
import { allows, grantCommand, type OperationName } from './rights.ts';
import { count } from './table.ts';

/** A right that is missing: in words, and on which resource to grant what. Without operations it is another fault. */
export interface Missing {
  readonly text: string;
  readonly grant?: { readonly operations: readonly OperationName[]; readonly resource: string };
}

const TIMEOUT_MS = 10_000;
const stateNeeds: readonly OperationName[] = ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS'];
export const sourceNeeds: readonly OperationName[] = ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS'];
export const destinationNeeds: readonly OperationName[] = [
  'READ',
  'WRITE',
  'DESCRIBE',
  'DESCRIBE_CONFIGS',
  'ALTER_CONFIGS',
];

export function reportMissing(
  missing: readonly Missing[],
  subject: string,
  bootstrap: string,
  report: CheckReport,
): void {
  for (const { text, grant } of missing) {
    const command =
      grant === undefined
        ? ''
        : `; grant it with: ${grantCommand(bootstrap, grant.resource, grant.operations)}`;
    report.fault(subject, `${text}${command}`);
  }
}

/** What a destination's markers, state topic and transactional ids lack. */
export async function clusterFaults(
  at: Reached,
  stateTopic: string,
  mirrors: readonly string[],
): Promise<Missing[]> {
  const connection = await at.cluster.anyConnection('check');
  const answer = await connection.call(
    describeClusterApi,
    { includeClusterAuthorizedOperations: true },
    { timeoutMs: TIMEOUT_MS },
  );
  if (answer.errorCode !== ErrorCode.NONE)
    return [{ text: `rights can't be read: ${errorName(answer.errorCode)}` }];
  const bits = answer.clusterAuthorizedOperations;
  const missing: Missing[] = [];
  if (!allows(bits, 'CLUSTER_ACTION') && !(at.age.alterAllowsMarkers && allows(bits, 'ALTER'))) {
    // no bit at all: without DESCRIBE a broker tells none, and ALTER implies it
    const untold = bits === 0 ? ', or not told for want of DESCRIBE' : '';
    const right: OperationName = at.age.alterAllowsMarkers ? 'ALTER' : 'CLUSTER_ACTION';
    missing.push({
      text: `no right to write transaction markers: ${right} on the cluster is missing${untold}`,
      grant: { operations: untold === '' ? [right] : [right, 'DESCRIBE'], resource: '--cluster' },
    });
  }
  missing.push(...(await topicFaults(at, [stateTopic], stateNeeds, { mayCreate: true })));
  missing.push(...(await transactionalIdFaults(at, stateTopic, mirrors)));
  return missing;
}

/**
 * Appends carry the transactional id of their mirror and state is written with ids of its own. No request tells these
 * rights, so a transaction that there is not is ended: refused for its producer id -1, and before that for want of WRITE.
 */
async function transactionalIdFaults(
  at: Reached,
  stateTopic: string,
  mirrors: readonly string[],
): Promise<Missing[]> {
  const connection = await at.cluster.anyConnection('check');
  const ids = [`isthmus-state-${stateTopic}-0`, ...mirrors.map((mirror) => `isthmus-${mirror}`)];
  const denied: string[] = [];
  for (const transactionalId of ids) {
    const body = { transactionalId, producerId: -1n, producerEpoch: -1, committed: false };
    const { errorCode } = await connection.call(endTxnApi, body, { timeoutMs: TIMEOUT_MS });
    if (errorCode === ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) denied.push(transactionalId);
  }
  if (denied.length === 0) return [];
  return [
    {
      text: `WRITE on transactional id ${denied.join(', ')} is missing`,
      grant: { operations: ['WRITE', 'DESCRIBE'], resource: transactionalIdsOfIsthmus },
    },
  ];
}

/** Rights on topics, whether they are there already or not: the same ones are told together. */
export async function topicFaults(
  at: Reached,
  topics: readonly string[],
  needs: readonly OperationName[],
  { mayCreate }: { readonly mayCreate: boolean },
): Promise<Missing[]> {
  if (topics.length === 0) return [];
  const connection = await at.cluster.anyConnection('check');
  const answer = await connection.call(
    metadataApi,
    {
      topics: topics.map((name) => ({ name })),
      allowAutoTopicCreation: false,
      includeTopicAuthorizedOperations: true,
    },
    { timeoutMs: TIMEOUT_MS },
  );
  const lacking = new Map<string, { operations: readonly OperationName[]; topics: string[] }>();
  for (const { name, errorCode, topicAuthorizedOperations: bits } of answer.topics) {
    const isHidden = errorCode === ErrorCode.TOPIC_AUTHORIZATION_FAILED;
    const isThere = errorCode !== ErrorCode.UNKNOWN_TOPIC_OR_PARTITION && !isHidden;
    const wanted = mayCreate && !isThere ? ['CREATE' as const, ...needs] : needs;
    const operations = isHidden ? wanted : wanted.filter((operation) => !allows(bits, operation));
    if (operations.length === 0) continue;
    const group = lacking.get(operations.join()) ?? { operations, topics: [] };
    group.topics.push(name ?? '');
    lacking.set(operations.join(), group);
  }
  // CREATE may stand on the cluster instead
  const created = mayCreate ? await mayCreateTopics(at) : false;
  return [...lacking.values()].flatMap((group) => {
    const operations = group.operations.filter((operation) => operation !== 'CREATE' || !created);
    return operations.length === 0 ? [] : [missingOn(at.name, group.topics, operations)];
  });
}

async function mayCreateTopics(at: Reached): Promise<boolean> {
  const connection = await at.cluster.anyConnection('check');
  const asked = { includeClusterAuthorizedOperations: true };
  const answer = await connection.call(describeClusterApi, asked, { timeoutMs: TIMEOUT_MS });
  return answer.errorCode === ErrorCode.NONE && allows(answer.clusterAuthorizedOperations, 'CREATE');
}

const NAMED = 5;

function missingOn(
  cluster: string,
  topics: readonly string[],
  operations: readonly OperationName[],
): Missing {
  const named = topics.slice(0, NAMED);
  const more = topics.length - named.length;
  const which = `${named.join(', ')}${more > 0 ? ` and ${count(more, 'more topic')}` : ''}`;
  return {
    text: `${operations.join(', ')} on ${topics.length === 1 ? 'topic' : 'topics'} ${which} of ${cluster} is missing`,
    grant: { operations, resource: named.map((topic) => `--topic '${topic}'`).join(' ') },
  };
}

/** Whether the state topic is there or would be created, as the file has it. */
export async function stateTopicFaults(
  at: Reached,
  { topic, partitions, replicationFactor }: StateConfig,
): Promise<Missing[]> {
  const faults = await creationFaults(at, [{ name: topic, partitions }], replicationFactor);
  const brokers = at.cluster.brokers().length;
  const wayOut =
    replicationFactor > brokers ? `. Add brokers, or set state: { replication.factor: ${brokers} }` : '';
  return faults.map((fault) => ({ ...fault, text: `${fault.text}${wayOut}` }));
}

/** Whether the broker would create the topics of a mirror: its policies and its replication factor, nothing is made. */
export async function creationFaults(
  at: Reached,
  topics: readonly { readonly name: string; readonly partitions: number }[],
  replicationFactor: number | null,
): Promise<Missing[]> {
  if (topics.length === 0) return [];
  const connection = await at.cluster.anyConnection('check');
  if (!connection.versions.has(createTopicsApi.key)) return [];
  const answer = await connection.call(
    createTopicsApi,
    {
      topics: topics.map(({ name, partitions }) => ({
        name,
        numPartitions: partitions,
        replicationFactor: replicationFactor ?? -1,
      })),
      validateOnly: true,
      timeoutMs: TIMEOUT_MS,
    },
    { timeoutMs: TIMEOUT_MS + 5000 },
  );
  // a missing right is told with the others of its topic
  const told: readonly number[] = [
    ErrorCode.NONE,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_ALREADY_EXISTS,
  ];
  return answer.topics
    .filter(({ errorCode }) => !told.includes(errorCode))
    .map(({ name, errorCode, errorMessage }) => ({
      text: `topic ${name} can't be created on ${at.name}: ${errorName(errorCode)}${errorMessage === null ? '' : ` (${errorMessage})`}`,
    }));
}
