import { isControl, isTransactional, lastOffset, producerId } from '../../../protocol/records/batch.ts';
import { parseControlRecord } from '../../../protocol/records/control.ts';
import { type LogRecord, readRecords } from '../../../protocol/records/records.ts';
import { walkBatches } from '../../../protocol/records/walk.ts';

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: number;
}

export interface CommittedRead {
  /** Where the next fetch begins. */
  readonly next: number;
  readonly batches: number;
}

/**
 * Visits the records of one READ_COMMITTED Fetch answer from offset `from` on: control batches and the batches of
 * aborted transactions are passed over. The broker returns nothing at or above the last stable offset, and lists every
 * aborted transaction that overlaps the answer, so no memory of earlier answers is needed (DESIGN 5.1).
 * @throws RecordsError for a damaged batch; Error for bytes that can't be a batch
 */
export function visitCommitted(
  bytes: Buffer,
  from: number,
  aborted: readonly AbortedTransaction[],
  visit: (record: LogRecord) => void,
): CommittedRead {
  const coming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  const open = new Set<bigint>();
  let next = from;
  let taken = 0;
  const walked = walkBatches(bytes, 0, bytes.length, (at) => {
    const last = lastOffset(bytes, at);
    for (let first = coming[0]; first !== undefined && first.firstOffset <= last; first = coming[0]) {
      open.add(first.producerId);
      coming.shift();
    }
    if (isControl(bytes, at)) {
      if (isAbort(bytes, at)) open.delete(producerId(bytes, at));
    } else if (last >= from && !(isTransactional(bytes, at) && open.has(producerId(bytes, at)))) {
      for (const record of readRecords(bytes, at)) if (record.offset >= from) visit(record);
    }
    next = Math.max(next, last + 1);
    taken += 1;
  });
  if (walked.bad !== undefined) {
    throw new Error(`bytes behind offset ${next - 1} are no record batch: ${walked.bad.reason}`);
  }
  return { next, batches: taken };
}

function isAbort(bytes: Buffer, at: number): boolean {
  for (const record of readRecords(bytes, at)) {
    const control = parseControlRecord(record);
    if (control.kind === 'end-transaction') return control.type === 'ABORT';
  }
  return false;
}
