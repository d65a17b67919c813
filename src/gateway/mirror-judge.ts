import { ErrorCode } from '../../protocol/errors.ts';
import {
  baseSequence,
  isControl,
  isDense,
  isLogAppendTime,
  isTransactional,
  magic,
  producerEpoch,
  producerId,
  recordCount,
} from '../../protocol/records/batch.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { type BatchIdentity, Lane, type MirrorLanes } from './mirror-lanes.ts';
import type { OwnAnswer } from './produce-split.ts';
import type { ProducePartition } from './produce-walk.ts';
import type { RequestSeen } from './rule.ts';

const STALE =
  'the state of its mirror could not be read lately: whether it may be copied is not known now; try again';

/** A batch that we let through to a mirror partition. */
export interface Granted {
  readonly lane: Lane;
  readonly topic: string;
  /** Name or id: what the response calls the topic. */
  readonly key: string;
  readonly partition: number;
  readonly expectedOffset: number;
  readonly batch: BatchIdentity;
  readonly at: number;
}

/** May this batch of a copier be appended now? A grant, or an answer of ours. */
export function judgeCopied(
  request: RequestSeen,
  lanes: MirrorLanes,
  mirror: string,
  topic: string,
  key: string,
  { index, recordsAt, recordsEnd }: ProducePartition,
  acks: number,
  seen: Set<string>,
): Granted | OwnAnswer {
  const { view, mirrorRole, frame } = request;
  const where = `${topic}-${index}`;
  const refuse = (code: number, text: string): OwnAnswer => ({ code, message: `${where}: ${text}` });
  if (view.freshness(topic, index) !== 'fresh') {
    return { code: ErrorCode.NOT_LEADER_OR_FOLLOWER, message: `${where}: ${STALE}` };
  }
  if (view.topic(topic)?.isReadOnly(index) !== true) {
    // the source's records behind the barrier would be nobody's: neither mirrored nor the new owner's
    const text = `mirror ${mirror} is stopped: its copier must stop too; other clients write through a gateway of role client`;
    return refuse(ErrorCode.POLICY_VIOLATION, text);
  }
  if (acks !== -1) {
    return refuse(ErrorCode.INVALID_REQUIRED_ACKS, `a copier must produce with acks=all, not ${acks}`);
  }
  if (seen.has(where)) return refuse(ErrorCode.INVALID_REQUEST, 'named twice in one request');
  seen.add(where);
  const batches: number[] = [];
  const walked =
    recordsAt < 0 ? undefined : walkBatches(frame, recordsAt, recordsEnd, (at) => void batches.push(at));
  const [at] = batches;
  if (
    walked === undefined ||
    walked.bad !== undefined ||
    walked.partial ||
    at === undefined ||
    batches.length > 1
  ) {
    return refuse(
      ErrorCode.INVALID_RECORD,
      `exactly one whole record batch is expected, ${batches.length} came`,
    );
  }
  if (magic(frame, at) !== 2 || isControl(frame, at) || !isDense(frame, at)) {
    return refuse(
      ErrorCode.INVALID_RECORD,
      'only data batches of format 2 with one record for each offset are copied',
    );
  }
  if (isLogAppendTime(frame, at)) {
    // brokers from 3.6 on take it and clear the bit: readers would see other times than at the source
    return refuse(
      ErrorCode.INVALID_RECORD,
      'batches with LogAppendTime are not copied: write with CreateTime',
    );
  }
  if (isTransactional(frame, at)) {
    return refuse(
      ErrorCode.POLICY_VIOLATION,
      'transactional batches are not taken from a copier: read the source with isolation.level=read_committed and ' +
        'write without a transactional.id',
    );
  }
  const batch: BatchIdentity = {
    producerId: producerId(frame, at),
    producerEpoch: producerEpoch(frame, at),
    baseSequence: baseSequence(frame, at),
    count: recordCount(frame, at),
  };
  if (batch.producerId >= FIRST_UNMAPPED) {
    return refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING, `producer id ${batch.producerId} has no mapped id`);
  }
  const grant = mirrorRole.grant(mirror, topic, index);
  if (grant.kind === 'not-leader') return { code: ErrorCode.NOT_LEADER_OR_FOLLOWER, message: grant.message };
  if (grant.kind === 'refused') return { code: ErrorCode.POLICY_VIOLATION, message: grant.message };
  const known = lanes.find(mirror, topic, index);
  known?.standsAt(grant.expectedOffset);
  const sequence = (known ?? new Lane()).judge(batch);
  if (sequence !== 'follows') {
    const code =
      sequence === 'old-epoch' ? ErrorCode.INVALID_PRODUCER_EPOCH : ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER;
    return refuse(
      code,
      `sequence ${batch.baseSequence} of producer ${batch.producerId} (epoch ${batch.producerEpoch}) does not follow ` +
        'the last batch that was accepted from it',
    );
  }
  const lane = lanes.of(mirror, topic, index);
  return { lane, topic, key, partition: index, expectedOffset: grant.expectedOffset, batch, at };
}

/** 2^61 - 2: the first source id without a place in the mapped range. */
const FIRST_UNMAPPED = (1n << 61n) - 2n;
