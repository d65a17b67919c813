import type { LinkFailure, PartitionRef } from './ports.ts';

/** Thrown by link functions that control awaits; carries what the partition is to be FAILED with. */
export class LinkFailureError extends Error {
  override readonly name = 'LinkFailureError';
  readonly failure: LinkFailure;

  constructor(failure: LinkFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** `orders-3`, as Kafka names a partition in its own logs. */
export function nameOf(ref: PartitionRef): string {
  return `${ref.topic}-${ref.partition}`;
}

/** Offsets in a message: `120` or `120..123`; `to` is exclusive. */
export function range(from: number, to: number): string {
  if (to <= from) return `nothing at ${from}`;
  return to === from + 1 ? `${from}` : `${from}..${to - 1}`;
}

export function linkFailure(
  code: LinkFailure['code'],
  message: string,
  offset: number | null,
  retriable = false,
): LinkFailure {
  return { code, message, offset, retriable };
}
