import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { describeAclsApi, type DescribeAclsResponse } from '../../protocol/schema/29-describe-acls.ts';
import { aclCommand } from './acl-command.ts';
import type { BrokerConnection } from './connection.ts';

/**
 * Who may write to topics at a cluster, as far as its ACLs say: writers that bypass a gateway are not stopped, only
 * found, so whoever has WRITE on a mirror topic is worth knowing. Super users, and `allow.everyone.if.no.acl.found`,
 * stand in no ACL and are not seen here.
 */
export type TopicWriters =
  /** The cluster has no authorizer: whoever can connect. */
  | { readonly kind: 'anyone' }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'known'; writersOf(topic: string): readonly string[] };

const TOPIC = 2;
const ANY = 1;
const ALL = 2;
const WRITE = 4;
const DENY = 2;
const ALLOW = 3;
const LITERAL = 3;
const PREFIXED = 4;

/** @throws when the connection does not answer */
export async function readTopicWriters(
  connection: BrokerConnection,
  options: { readonly bootstrap?: string; readonly timeoutMs: number },
): Promise<TopicWriters> {
  if (!connection.versions.has(describeAclsApi.key)) {
    return { kind: 'unknown', why: `${connection.peer} does not answer DescribeAcls` };
  }
  const answer = await connection.call(
    describeAclsApi,
    { resourceTypeFilter: TOPIC, patternTypeFilter: ANY, operation: ANY, permissionType: ANY },
    { timeoutMs: options.timeoutMs },
  );
  switch (answer.errorCode) {
    case ErrorCode.NONE:
      return { kind: 'known', writersOf: (topic) => writersOf(answer.resources, topic) };
    case ErrorCode.SECURITY_DISABLED:
      return { kind: 'anyone' };
    case ErrorCode.CLUSTER_AUTHORIZATION_FAILED: {
      const command = aclCommand(['DESCRIBE'], '--cluster', options.bootstrap);
      return { kind: 'unknown', why: `no right to read the ACLs; grant it with: ${command}` };
    }
    default: {
      const detail = answer.errorMessage === null ? '' : ` (${answer.errorMessage})`;
      return { kind: 'unknown', why: `${errorName(answer.errorCode)}${detail}` };
    }
  }
}

type Resources = DescribeAclsResponse['resources'];

/** `User:app`, or `User:app from 10.0.0.1` where the ACL names a host; in order. */
function writersOf(resources: Resources, topic: string): string[] {
  const onTopic = resources
    .filter(({ resourceName, patternType }) => covers(resourceName, patternType, topic))
    .flatMap(({ acls }) => acls)
    .filter(({ operation }) => operation === WRITE || operation === ALL);
  // a denial wins over every permission of the same principal
  const isDenied = (principal: string, host: string): boolean =>
    onTopic.some(
      (acl) =>
        acl.permissionType === DENY &&
        (acl.principal === principal || acl.principal === 'User:*') &&
        (acl.host === host || acl.host === '*'),
    );
  const allowed = onTopic.filter(
    ({ permissionType, principal, host }) => permissionType === ALLOW && !isDenied(principal, host),
  );
  return [
    ...new Set(
      allowed.map(({ principal, host }) => (host === '*' ? principal : `${principal} from ${host}`)),
    ),
  ].sort();
}

function covers(name: string, patternType: number, topic: string): boolean {
  if (patternType === PREFIXED) return topic.startsWith(name);
  return patternType === LITERAL && (name === '*' || name === topic);
}
