import { describe, expect, test } from 'vitest';
import { ErrorCode } from '../../../../protocol/errors.ts';
import {
  type AppendSpan,
  judgeIdleEnd,
  judgeMarkerReply,
  judgeProduceReply,
  judgeReadBack,
} from '../../../../src/link/judge.ts';

const ref = { topic: 'orders', partition: 3 };
const data: AppendSpan = { kind: 'data', from: 100, to: 104 };
const markers: AppendSpan = { kind: 'markers', from: 100, to: 104 };

describe('a Produce reply', () => {
  test.each<[string, number, number, string]>([
    ['success at the expected base', ErrorCode.NONE, 100, 'done'],
    ['success above it: something stood in between', ErrorCode.NONE, 105, 'failed'],
    ['success below it: the log had lost its tail', ErrorCode.NONE, 96, 'failed'],
    ['too few in-sync replicas, before the append', ErrorCode.NOT_ENOUGH_REPLICAS, -1, 'resend'],
    ['not the leader, before the append', ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, 'resend'],
    ['not the leader any more, behind the append', ErrorCode.NOT_LEADER_OR_FOLLOWER, 100, 'open'],
    ['appended, followers too few then', ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 100, 'open'],
    ['timed out, base or not', ErrorCode.REQUEST_TIMED_OUT, 100, 'open'],
    ['damaged on the way', ErrorCode.CORRUPT_MESSAGE, -1, 'refetch'],
    ['too large for the topic', ErrorCode.MESSAGE_TOO_LARGE, -1, 'too-large'],
    ['larger than a segment', ErrorCode.RECORD_LIST_TOO_LARGE, -1, 'failed'],
    ['an invalid record', ErrorCode.INVALID_RECORD, -1, 'failed'],
    ['an invalid timestamp', ErrorCode.INVALID_TIMESTAMP, -1, 'failed'],
    ['a policy', ErrorCode.POLICY_VIOLATION, -1, 'failed'],
    ['no right on the topic', ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1, 'failed'],
    ['no right on the transactional id', ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, 'failed'],
    ['the topic is not known there', ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, 'open'],
    ['another topic has its name', ErrorCode.UNKNOWN_TOPIC_ID, -1, 'open'],
    ['a disk fault', ErrorCode.KAFKA_STORAGE_ERROR, -1, 'open'],
    ['anything unknown', 9999, -1, 'open'],
  ])('%s', (_, code, base, kind) => {
    expect(judgeProduceReply(ref, data, code, base).kind).toBe(kind);
  });

  test('a misplaced batch names both ranges and the first damaged offset', () => {
    const verdict = judgeProduceReply(ref, data, ErrorCode.NONE, 105);
    expect(verdict).toMatchObject({ failure: { code: 'foreign-write', offset: 100, retriable: false } });
    if (verdict.kind === 'failed')
      expect(verdict.failure.message).toMatch(/orders-3.*100\.\.103.*105\.\.108/);
  });

  test.each([
    [ErrorCode.INVALID_TIMESTAMP, true],
    [ErrorCode.POLICY_VIOLATION, true],
    [ErrorCode.INVALID_RECORD, false],
  ])('what settings refuse is tried again, a batch that is refused is not (%i)', (code, retriable) => {
    expect(judgeProduceReply(ref, data, code, -1)).toMatchObject({
      failure: { code: 'refused-by-broker', offset: 100, retriable },
    });
  });

  test('a missing right is retriable and says which one to grant', () => {
    const verdict = judgeProduceReply(ref, data, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1);
    expect(verdict).toMatchObject({ failure: { code: 'authorization', retriable: true } });
    if (verdict.kind === 'failed') expect(verdict.failure.message).toContain('transactional id');
  });
});

describe('a WriteTxnMarkers reply with the end read behind it', () => {
  test.each<[string, number | null, number | null, number, string]>([
    ['acknowledged, the end where it must be', 0, 0, 104, 'done'],
    ['acknowledged, the end is elsewhere', 0, 0, 105, 'open'],
    ['acknowledged, the end was not read', 0, null, -1, 'open'],
    ['acknowledged, the leader had moved', 0, ErrorCode.FENCED_LEADER_EPOCH, -1, 'open'],
    ['an error, even one that others mean as "not appended"', ErrorCode.NOT_ENOUGH_REPLICAS, 0, 104, 'open'],
    ['an unknown error', ErrorCode.UNKNOWN_SERVER_ERROR, 0, 100, 'open'],
    ['a reply without our partition', null, 0, 104, 'open'],
  ])('%s', (_, markerError, endError, end, kind) => {
    expect(judgeMarkerReply(ref, markers, markerError, endError, end).kind).toBe(kind);
  });
});

describe('a read-back', () => {
  const whole = (to: number) => ({ matchedTo: to, found: null });
  test.each<[string, AppendSpan, number, { matchedTo: number; found: string | null }, object]>([
    ['nothing new: send it again', data, 100, whole(100), { kind: 'resend' }],
    ['the whole batch, ours', data, 104, whole(104), { kind: 'done' }],
    ['all markers, ours', markers, 104, whole(104), { kind: 'done' }],
    ['some markers, ours: go on behind them', markers, 102, whole(102), { kind: 'continue', at: 102 }],
    ['no marker at all', markers, 100, whole(100), { kind: 'resend' }],
    ['a shorter log: mirror again from there', data, 90, whole(100), { kind: 'rewind', at: 90 }],
    ['part of a batch can only be something else', data, 102, whole(102), { kind: 'failed' }],
    ['something else in our place', data, 104, { matchedTo: 100, found: 'a batch' }, { kind: 'failed' }],
    ['ours twice', data, 108, { matchedTo: 104, found: 'more behind it' }, { kind: 'failed' }],
    ['one marker too many', markers, 105, { matchedTo: 104, found: 'more behind it' }, { kind: 'failed' }],
    ['a foreign marker among ours', markers, 104, { matchedTo: 101, found: 'x' }, { kind: 'failed' }],
  ])('%s', (_, span, end, match, expected) => {
    expect(judgeReadBack(ref, span, end, match)).toMatchObject(expected);
  });

  test('damage names both ranges and the offset', () => {
    const verdict = judgeReadBack(ref, data, 108, { matchedTo: 104, found: 'more behind it' });
    expect(verdict).toMatchObject({ failure: { code: 'foreign-write', offset: 104 } });
    if (verdict.kind === 'failed') expect(verdict.failure.message).toMatch(/100\.\.103.*100\.\.107/);
  });
});

test('the end of an idle partition', () => {
  expect(judgeIdleEnd(ref, 50, 50)).toBe('same');
  expect(judgeIdleEnd(ref, 50, 48)).toBe('shorter');
  const judged = judgeIdleEnd(ref, 50, 53);
  expect(judged).toMatchObject({ failure: { code: 'foreign-write', offset: 50 } });
  if (typeof judged === 'object') expect(judged.failure.message).toMatch(/ends at 50.*50\.\.52/);
});
