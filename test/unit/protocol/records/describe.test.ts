import { describe, expect, test } from 'vitest';
import {
  buildControlBatch,
  buildMarkerBatch,
  buildMirrorPidResetBatch,
} from '../../../../protocol/records/barrier.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import {
  type BatchDescription,
  batchLine,
  controlLine,
  describeBatch,
  describeProducer,
} from '../../../../protocol/records/describe.ts';
import { barrierId, fillerId } from '../../../../protocol/records/ids.ts';
import { NOW, golden } from './golden.ts';

const EAST = 'Yx9PqgBkTzG0mYy3nXv1qA';
const marker = { producerEpoch: 0, timestamp: NOW, baseOffset: 30 } as const;

function controlText(batch: Buffer, sourceClusterIds: string[] = []): string {
  const described = describeBatch(batch, 0, { sourceClusterIds });
  return controlLine(described.control as NonNullable<BatchDescription['control']>);
}

describe('batches in words', () => {
  test('a data batch with a mapped id names the source id, epochs, sequence, codec and times', () => {
    const batch = buildBatch({
      records: [
        { timestamp: NOW, value: 'a' },
        { timestamp: NOW + 61n, value: 'b' },
      ],
      baseOffset: 12,
      producerId: -43n,
      producerEpoch: 2,
      baseSequence: 5,
      partitionLeaderEpoch: 4,
      transactional: true,
      codec: 4,
    });
    expect(batchLine(describeBatch(batch, 0))).toBe(
      `offsets 12..13  count 2  size ${batch.length}  zstd  pid -43 (mapped from 41)  epoch 2  seq 5  ` +
        'leaderEpoch 4  txn  CreateTime 2026-11-30T09:43:07.239Z..2026-11-30T09:43:07.300Z  crc valid',
    );
  });

  test('a wrong CRC and impossible numbers are said', () => {
    const batch = buildBatch({ records: [{ value: 'a' }], crc: 1, recordCount: 9 });
    const line = batchLine(describeBatch(batch, 0));
    expect(line).toContain('crc INVALID');
    expect(line).toContain('FAULT 9 records in 1 offsets');
  });

  test('each class of id is told', () => {
    const words = [7n, -1n, -9n, fillerId(70), barrierId(EAST), -(2n ** 63n)].map((id) =>
      describeProducer(id, [EAST]),
    );
    expect(words.map((word) => [word.class, word.meaning])).toEqual([
      ['local', ''],
      ['none', ''],
      ['mapped', 'mapped from 7'],
      ['filler', 'filler of offset 70'],
      ['barrier', expect.stringMatching(/^barrier h=[0-9a-f]{15} \(Yx9PqgBkTzG0mYy3nXv1qA\)$/)],
      ['unassigned', 'in no range of ours'],
    ]);
  });

  test('times that are no dates are shown as numbers', () => {
    const batch = buildBatch({ records: [{ timestamp: 2n ** 62n }], baseTimestamp: -1n });
    expect(describeBatch(batch, 0)).toMatchObject({
      baseTimestamp: '-1',
      maxTimestamp: '4611686018427387904',
    });
  });
});

describe('control records in words', () => {
  test('markers tell their kind and coordinator epoch, inert ones that they are inert', () => {
    expect(controlText(golden('commit'))).toBe('COMMIT (type 1)  coordinatorEpoch 12');
    expect(controlText(golden('abort'))).toBe('ABORT (type 0)  coordinatorEpoch 13');
    const filler = buildMarkerBatch({
      ...marker,
      type: 'COMMIT',
      coordinatorEpoch: 0,
      producerId: fillerId(30),
    });
    expect(controlText(filler)).toBe('COMMIT (type 1)  inert  coordinatorEpoch 0');
  });

  test('a barrier marker is shown as MIRROR_PID_RESET with generation, hash and the source when known', () => {
    const barrier = buildMarkerBatch({
      ...marker,
      type: 'COMMIT',
      coordinatorEpoch: 3,
      producerId: barrierId(EAST),
    });
    expect(controlText(barrier, ['x', EAST])).toMatch(
      /^MIRROR_PID_RESET \(type 7\) {2}generation 3 {2}h=[0-9a-f]{15} {2}SourceClusterId "Yx9PqgBkTzG0mYy3nXv1qA" {2}stored as a COMMIT marker {2}coordinatorEpoch 3$/,
    );
    expect(controlText(barrier)).toContain('SourceClusterId ""');
  });

  test('a type 7 record is shown the same, without the word about markers', () => {
    const shown = buildMirrorPidResetBatch({
      ...marker,
      producerId: barrierId(EAST),
      sourceClusterId: EAST,
      generation: 3,
    });
    expect(controlText(shown)).toMatch(
      /^MIRROR_PID_RESET \(type 7\) {2}generation 3 {2}h=\w{15} {2}SourceClusterId "Yx9P\w+"$/,
    );
  });

  test('KRaft types, unknown types, unreadable and emptied ones have words too', () => {
    const control = (typeByte: number, value: Buffer): Buffer =>
      buildControlBatch({ key: Buffer.from([0, 0, 0, typeByte]), value, timestamp: NOW });
    expect(controlText(golden('leader-change'))).toBe('LEADER_CHANGE (type 2)');
    expect(controlText(golden('kraft-version'))).toBe('KRAFT_VERSION (type 5)');
    expect(controlText(control(9, Buffer.alloc(2)))).toBe('UNKNOWN_9 (type 9)');
    expect(controlText(control(1, Buffer.alloc(2)))).toContain('COMMIT (type 1)  UNREADABLE');
    expect(controlText(buildBatch({ records: [], control: true, lastOffsetDelta: 0 }))).toBe('emptied');
    expect(controlText(buildBatch({ records: [{ key: 'x' }], control: true }))).toContain('unreadable');
  });

  test('a description survives JSON', () => {
    const described = describeBatch(golden('commit-barrier'), 0);
    expect(JSON.parse(JSON.stringify(described))).toEqual(described);
  });
});
