import { expect, test } from 'vitest';
import { lastOffset } from '../../protocol/records/batch.ts';
import { buildBatch } from '../../protocol/records/build.ts';
import { readRecords } from '../../protocol/records/records.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { golden } from '../unit/protocol/records/golden.ts';

/**
 * kafkajs 562 and 1072: on a compacted topic the last records of a batch, or all of them, are gone; a reader
 * that counts records asks for the same offset for ever.
 */

function nextOffset(response: Buffer): number {
  let next = -1;
  walkBatches(response, 0, response.length, (at) => {
    next = lastOffset(response, at) + 1;
  });
  return next;
}

test('the next offset is one behind the last of the batch, though its last five records are gone', () => {
  const batch = golden('compacted');
  expect([...readRecords(batch)].at(-1)?.offset).toBe(104);
  expect(nextOffset(batch)).toBe(110);
});

test('a batch without any record left moves the position on', () => {
  const batch = golden('emptied');
  expect([...readRecords(batch)]).toEqual([]);
  expect(nextOffset(batch)).toBe(210);
});

test('a response of nothing but emptied batches ends behind the last of them', () => {
  const response = Buffer.concat(
    [0, 10, 20].map((baseOffset) => buildBatch({ records: [], baseOffset, lastOffsetDelta: 9 })),
  );
  expect(nextOffset(response)).toBe(30);
});
