import { ErrorCode } from '../../protocol/errors.ts';

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
      return acls('WRITE,DESCRIBE', "--transactional-id 'isthmus-' --resource-pattern-type prefixed");
    default:
      return '';
  }
}

function acls(operations: string, resource: string): string {
  const each = operations
    .split(',')
    .map((operation) => `--operation ${operation}`)
    .join(' ');
  return (
    `; grant it with: kafka-acls --bootstrap-server HOST:PORT --add --allow-principal User:NAME ` +
    `${each} ${resource}`
  );
}
