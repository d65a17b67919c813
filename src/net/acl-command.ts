/**
 * The command that grants rights, as it can be pasted: `kafka-acls` takes operations in its own spelling only
 * (`ClusterAction`, not `CLUSTER_ACTION`). Who is to be granted them, and where, is for its reader to fill in.
 * @param operations in the protocol's spelling, `DESCRIBE_CONFIGS`
 * @param resource as options, `--cluster` or `--topic 'orders'`
 */
export function aclCommand(operations: readonly string[], resource: string, bootstrap = 'HOST:PORT'): string {
  const each = operations.map((operation) => `--operation ${toolSpelling(operation)}`).join(' ');
  return `kafka-acls --bootstrap-server ${bootstrap} --add --allow-principal User:NAME ${each} ${resource}`;
}

export const transactionalIdsOfIsthmus = "--transactional-id 'isthmus-' --resource-pattern-type prefixed";

function toolSpelling(operation: string): string {
  return operation
    .split('_')
    .map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`)
    .join('');
}
