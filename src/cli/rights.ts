import { aclCommand } from '../net/acl-command.ts';

/** Operations as Kafka numbers them in an authorized-operations bit set (AclOperation). */
export const Operation = {
  READ: 3,
  WRITE: 4,
  CREATE: 5,
  DELETE: 6,
  ALTER: 7,
  DESCRIBE: 8,
  CLUSTER_ACTION: 9,
  DESCRIBE_CONFIGS: 10,
  ALTER_CONFIGS: 11,
  IDEMPOTENT_WRITE: 12,
} as const;

export type OperationName = keyof typeof Operation;

/** What the field holds when the broker did not say. */
const NOT_TOLD = -0x8000_0000;

export function allows(bits: number, operation: OperationName): boolean {
  return bits === NOT_TOLD || ((bits >> Operation[operation]) & 1) === 1;
}

/** Whether the broker told the rights at all. */
export function told(bits: number): boolean {
  return bits !== NOT_TOLD;
}

/** The command that grants a right; the principal is only known to whoever configured it. */
export function grantCommand(
  bootstrap: string,
  resource: string,
  operations: readonly OperationName[],
): string {
  return aclCommand(operations, resource, bootstrap);
}
