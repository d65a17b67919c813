import { buildBatch } from '../../protocol/records/build.ts';

/**
 * A batch that every broker refuses behind the leader check and under the log lock, with no effect: it claims six
 * offsets and holds one record (INVALID_RECORD). Built once; the same bytes serve every partition.
 */
export const DOOMED_BATCH: Buffer = buildBatch({
  records: [{ key: null, value: null, timestamp: 0n }],
  lastOffsetDelta: 5,
});
