import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { aclCommand, transactionalIdsOfIsthmus } from '../net/acl-command.ts';
import { linkFailure, nameOf, range } from './failure.ts';
import type { LinkFailure, PartitionRef } from './ports.ts';

/**
 * The rules of DESIGN 5.5 as pure functions: what an answer or a read-back says about an append. They decide
 * nothing about time, connections or retries.
 */

/** An append that was sent: offsets [from, to) of one partition, as one batch or as to - from markers. */
export interface AppendSpan {
  readonly kind: 'data' | 'markers';
  readonly from: number;
  readonly to: number;
}

export type ReplyVerdict =
  /** appended where it belongs */
  | { readonly kind: 'done' }
  /** certainly not appended: send it again after a pause; `moved`: another broker leads */
  | { readonly kind: 'resend'; readonly error: string; readonly moved?: boolean }
  /** the bytes were damaged on the way: fetch them again */
  | { readonly kind: 'refetch'; readonly error: string }
  /** the topic's max.message.bytes is too small for the batch */
  | { readonly kind: 'too-large' }
  /** the request has ended, its outcome is not known: read the log */
  | {
      readonly kind: 'open';
      readonly error: string;
      /** What to fail with when the log shows that nothing was appended: sending it again would not help. */
      readonly refusal?: LinkFailure;
    }
  | { readonly kind: 'failed'; readonly failure: LinkFailure };

const REFUSED: ReadonlySet<number> = new Set([
  ErrorCode.INVALID_TOPIC_EXCEPTION,
  ErrorCode.RECORD_LIST_TOO_LARGE,
  ErrorCode.INVALID_REQUIRED_ACKS,
  ErrorCode.INVALID_TIMESTAMP,
  ErrorCode.UNSUPPORTED_VERSION,
  ErrorCode.INVALID_REQUEST,
  ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
  ErrorCode.POLICY_VIOLATION,
  ErrorCode.INVALID_PRODUCER_EPOCH,
  ErrorCode.INVALID_TXN_STATE,
  ErrorCode.INVALID_PRODUCER_ID_MAPPING,
  ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
  ErrorCode.INVALID_RECORD,
  ErrorCode.READ_ONLY_TOPIC,
]);

/** Of these, what settings of topic or broker decide: tried again, and a mirror topic's own are put right before. */
const OF_SETTINGS: ReadonlySet<number> = new Set([
  ErrorCode.RECORD_LIST_TOO_LARGE,
  ErrorCode.INVALID_TIMESTAMP,
  ErrorCode.POLICY_VIOLATION,
  ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
  ErrorCode.READ_ONLY_TOPIC,
]);

const UNAUTHORIZED: ReadonlySet<number> = new Set([
  ErrorCode.TOPIC_AUTHORIZATION_FAILED,
  ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
  ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
]);

/** Rule 1 and 4: one partition's entry of a Produce reply; `stamped`: the broker set its own time. */
export function judgeProduceReply(
  ref: PartitionRef,
  span: AppendSpan,
  errorCode: number,
  baseOffset: number,
  detail: string | null = null,
  stamped = false,
): ReplyVerdict {
  if (errorCode === ErrorCode.NONE) {
    if (stamped) return { kind: 'failed', failure: restamped(ref, span) };
    if (baseOffset === span.from) return { kind: 'done' };
    const length = span.to - span.from;
    return {
      kind: 'failed',
      failure: misplaced(
        ref,
        span,
        `they were stored at ${range(baseOffset, baseOffset + length)}`,
        Math.min(span.from, baseOffset),
      ),
    };
  }
  const said = `${errorName(errorCode)}${detail === null || detail === '' ? '' : ` (${detail})`}`;
  const offsets = range(span.from, span.to);
  switch (errorCode) {
    case ErrorCode.NOT_ENOUGH_REPLICAS:
      return { kind: 'resend', error: said };
    case ErrorCode.NOT_LEADER_OR_FOLLOWER:
      return baseOffset === -1 ? { kind: 'resend', error: said, moved: true } : { kind: 'open', error: said };
    case ErrorCode.CORRUPT_MESSAGE:
      return { kind: 'refetch', error: said };
    case ErrorCode.MESSAGE_TOO_LARGE:
      return { kind: 'too-large' };
    default:
  }
  if (UNAUTHORIZED.has(errorCode))
    return { kind: 'failed', failure: unauthorized(ref, span, errorCode, said) };
  if (REFUSED.has(errorCode)) {
    return {
      kind: 'failed',
      failure: linkFailure(
        'refused-by-broker',
        `${nameOf(ref)}: the destination refused offsets ${offsets} with ${said}; compare the topic's settings with what a mirror topic must be`,
        span.from,
        OF_SETTINGS.has(errorCode),
      ),
    };
  }
  return { kind: 'open', error: said };
}

/** Rule 2: markers were acknowledged and the end was read behind them on the same connection. */
export function judgeMarkerReply(
  ref: PartitionRef,
  span: AppendSpan,
  markerError: number | null,
  endError: number | null,
  end: number,
): ReplyVerdict {
  if (markerError === null) return { kind: 'open', error: 'the markers were not acknowledged' };
  if (UNAUTHORIZED.has(markerError)) {
    const said = errorName(markerError);
    return { kind: 'open', error: said, refusal: unauthorized(ref, span, markerError, said) };
  }
  if (markerError !== ErrorCode.NONE) return { kind: 'open', error: errorName(markerError) };
  if (endError === null) return { kind: 'open', error: 'the end behind the markers was not read' };
  if (endError !== ErrorCode.NONE) return { kind: 'open', error: `end read: ${errorName(endError)}` };
  if (end === span.to) return { kind: 'done' };
  return { kind: 'open', error: `the log ends at ${end} where ${span.to} was expected` };
}

/** How far the stored tail from `span.from` on is ours. */
export interface TailMatch {
  /** First offset that is not ours, or the end. */
  readonly matchedTo: number;
  /** What stands there, when it is not the end. */
  readonly found: string | null;
}

export type ReadBackVerdict =
  | { readonly kind: 'done' }
  | { readonly kind: 'resend' }
  /** the first `at - from` markers are in the log */
  | { readonly kind: 'continue'; readonly at: number }
  /** the log is shorter than what was acknowledged: mirror again from `at` */
  | { readonly kind: 'rewind'; readonly at: number }
  | { readonly kind: 'failed'; readonly failure: LinkFailure };

/** Rule 7: the log's end and its tail say what became of an append. */
export function judgeReadBack(
  ref: PartitionRef,
  span: AppendSpan,
  end: number,
  match: TailMatch,
): ReadBackVerdict {
  if (end < span.from) return { kind: 'rewind', at: end };
  if (end === span.from) return { kind: 'resend' };
  const whole = match.found === null && match.matchedTo === end;
  if (whole && end === span.to) return { kind: 'done' };
  if (whole && end < span.to && span.kind === 'markers') return { kind: 'continue', at: end };
  const what =
    match.found === null
      ? `the destination holds ${range(span.from, end)}`
      : `the destination holds ${range(span.from, end)} and ${match.found} at ${match.matchedTo}`;
  return { kind: 'failed', failure: misplaced(ref, span, what, match.matchedTo) };
}

/** Rule 8: the end of a partition that nobody of us was writing to. */
export function judgeIdleEnd(
  ref: PartitionRef,
  expected: number,
  end: number,
): 'same' | 'shorter' | { readonly failure: LinkFailure } {
  if (end === expected) return 'same';
  if (end < expected) return 'shorter';
  return {
    failure: linkFailure(
      'foreign-write',
      `${nameOf(ref)}: the mirror ends at ${expected}, but the destination holds ${range(expected, end)} which Isthmus did not write (another writer, or a late append of a lost request); find the writer, then rebuild the topic`,
      expected,
    ),
  };
}

function misplaced(ref: PartitionRef, span: AppendSpan, what: string, offset: number): LinkFailure {
  const kind = span.kind === 'data' ? 'records' : 'markers';
  return linkFailure(
    'foreign-write',
    `${nameOf(ref)}: ${kind} of source offsets ${range(span.from, span.to)} belong at the same destination offsets, but ${what}; something else was written or lost, rebuild the topic`,
    offset,
  );
}

function restamped(ref: PartitionRef, span: AppendSpan): LinkFailure {
  return linkFailure(
    'refused-by-broker',
    `${nameOf(ref)}: the destination gave the records of offsets ${range(span.from, span.to)} its own time (LogAppendTime), so they are no longer the source's; set message.timestamp.type=CreateTime on the destination topic and rebuild it`,
    span.from,
  );
}

function unauthorized(ref: PartitionRef, span: AppendSpan, errorCode: number, said: string): LinkFailure {
  return linkFailure(
    'authorization',
    `${nameOf(ref)}: the destination refused offsets ${range(span.from, span.to)} with ${said}; ${rightFor(ref, errorCode)}`,
    span.from,
    true,
  );
}

function rightFor(ref: PartitionRef, errorCode: number): string {
  if (errorCode === ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) {
    return `grant WRITE on the transactional id isthmus-<mirror>: ${aclCommand(['WRITE', 'DESCRIBE'], transactionalIdsOfIsthmus)}`;
  }
  if (errorCode === ErrorCode.CLUSTER_AUTHORIZATION_FAILED) return rightForMarkers;
  return `grant WRITE and DESCRIBE on the topic: ${aclCommand(['WRITE', 'DESCRIBE'], `--topic '${ref.topic}'`)}`;
}

/** WriteTxnMarkers. */
export const rightForMarkers = `grant ALTER (3.8+) or CLUSTER_ACTION on the cluster: ${aclCommand(['CLUSTER_ACTION'], '--cluster')}`;
