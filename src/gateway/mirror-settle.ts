import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { decodeResponse } from '../../protocol/frame/messages.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import type { Granted } from './mirror-judge.ts';
import type { MirrorRolePort } from './ports.ts';
import type { OwnAnswer } from './produce-split.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Errors after which a batch is certainly not in the log (DESIGN 5.5 rule 4), when no offset stands beside them: with
 * one the broker had appended, and the error is of what came then.
 */
const NOT_STORED: ReadonlySet<number> = new Set([
  ErrorCode.CORRUPT_MESSAGE,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
  ErrorCode.MESSAGE_TOO_LARGE,
  ErrorCode.RECORD_LIST_TOO_LARGE,
  ErrorCode.NOT_ENOUGH_REPLICAS,
  ErrorCode.INVALID_REQUIRED_ACKS,
  ErrorCode.TOPIC_AUTHORIZATION_FAILED,
  ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
  ErrorCode.INVALID_TIMESTAMP,
  ErrorCode.POLICY_VIOLATION,
  ErrorCode.INVALID_RECORD,
  ErrorCode.UNKNOWN_TOPIC_ID,
]);

/** Tells control how each granted append ended. @returns answers to give in place of a success that was none */
export function settleAll(
  port: MirrorRolePort,
  mirror: string,
  granted: readonly Granted[],
  frame: Buffer,
  version: number,
): Map<string, OwnAnswer> {
  const wrong = new Map<string, OwnAnswer>();
  const answers = new Map<string, { errorCode: number; baseOffset: number }>();
  let unreadable = '';
  try {
    for (const topic of decodeResponse(produceApi, version, frame).responses) {
      const key = version >= 13 ? topic.topicId : topic.name;
      for (const answer of topic.partitionResponses) answers.set(`${key}/${answer.index}`, answer);
    }
  } catch (error) {
    unreadable = textOf(error);
  }
  for (const { lane, topic, key, partition, expectedOffset, batch } of granted) {
    const answer = answers.get(`${key}/${partition}`);
    const verdict = verdictOf(answer, expectedOffset, unreadable);
    if (verdict === 'stored') {
      lane.accepted(batch, expectedOffset);
      port.appended(mirror, topic, partition, expectedOffset, batch.count);
    } else if (verdict === 'not-stored') port.notStored(mirror, topic, partition);
    else {
      const message = `${topic}-${partition}: ${verdict}`;
      port.failed(mirror, topic, partition, message);
      wrong.set(`${key}/${partition}`, { code: ErrorCode.UNKNOWN_SERVER_ERROR, message });
    }
    lane.release();
  }
  return wrong;
}

function verdictOf(
  answer: { errorCode: number; baseOffset: number } | undefined,
  expected: number,
  unreadable: string,
): 'stored' | 'not-stored' | (string & {}) {
  if (answer === undefined)
    return `the broker did not answer for it${unreadable === '' ? '' : ` (${unreadable})`}`;
  const { errorCode, baseOffset } = answer;
  if (errorCode === ErrorCode.NONE) {
    if (baseOffset === expected) return 'stored';
    return `stored at offset ${baseOffset}, expected ${expected}: someone else wrote to the partition`;
  }
  if (baseOffset < 0 && NOT_STORED.has(errorCode)) return 'not-stored';
  return `${errorName(errorCode)} leaves open whether the batch at offset ${expected} was stored`;
}
