import { expect, test } from 'vitest';
import { readBarrier, readControlRecord } from '../../protocol/records/barrier.ts';
import { batchLine, describeBatch } from '../../protocol/records/describe.ts';
import { walkBatches } from '../../protocol/records/walk.ts';
import { golden } from '../unit/protocol/records/golden.ts';

/**
 * platformatic/kafka 391: a fetch that begins at an ABORT marker has no entry for it in its list of aborted
 * transactions, and the client throws. Records know nothing of that list: a marker is read by itself.
 */

test('a response that begins with an ABORT marker is walked, read and described like any other', () => {
  const response = Buffer.concat([golden('abort'), golden('idempotent')]);
  const kinds: string[] = [];
  const result = walkBatches(response, 0, response.length, (at) => {
    const batch = describeBatch(response, at);
    kinds.push(batch.control?.type ?? 'data');
    expect(batchLine(batch)).toContain('crc valid');
  });
  expect(result).toMatchObject({ batches: 2, partial: false });
  expect(kinds).toEqual(['ABORT', 'data']);
});

test('the marker alone tells its transaction end and is no barrier', () => {
  expect(readControlRecord(golden('abort'), 0)).toMatchObject({ type: 'ABORT', coordinatorEpoch: 13 });
  expect(readBarrier(golden('abort'), 0)).toBeUndefined();
});
