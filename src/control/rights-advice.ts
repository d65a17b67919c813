import { ErrorCode } from '../../protocol/errors.ts';
import { aclCommand, transactionalIdsOfIsthmus } from '../net/acl-command.ts';

/**
 * What to run when a broker says that a right is missing; "" for every other code. The principal is ours to
 * guess from nothing, so the command leaves it to be filled in.
 */
export function rightsAdvice(code: number, topic: string, operations: string): string {
  switch (code) {
    case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
      return acls(operations, `--topic '${topic}'`);
    case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
      return acls('CLUSTER_ACTION', '--cluster');
    case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return acls('WRITE,DESCRIBE', transactionalIdsOfIsthmus);
    default:
      return '';
  }
}

function acls(operations: string, resource: string): string {
  return `; grant it with: ${aclCommand(operations.split(','), resource)}`;
}
