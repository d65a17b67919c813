import { Reader } from '../../protocol/primitives/reader.ts';
import { MOST_KEPT } from './rule.ts';

/**
 * A Fetch response (4-18) by its positions: where each partition's records lie and where the tagged fields at the
 * end begin. Record bytes are stepped over, so the cost is per partition, not per byte.
 */
export const FETCH_FLEXIBLE_FROM = 12;
export const FETCH_IDS_FROM = 13;
export const FETCH_ENDPOINTS_FROM = 16;

export interface FetchedPartition {
  /** Name up to version 12, id (22 characters) from 13. */
  readonly topic: string;
  readonly index: number;
  /** Where the length of the records stands; the records are [recordsAt, recordsEnd). */
  readonly lengthAt: number;
  readonly recordsAt: number;
  readonly recordsEnd: number;
}

export interface FetchShape {
  /** Where the tagged fields of the body begin; the frame's end for versions without. */
  readonly tagsAt: number;
  /** Partitions with at least one record byte; empty unless asked for. */
  readonly partitions: readonly FetchedPartition[];
}

const NONE: readonly FetchedPartition[] = [];

/** @returns the shape, or a text that says what is wrong and where */
export function walkFetch(frame: Buffer, version: number, wantPartitions: boolean): FetchShape | string {
  const flexible = version >= FETCH_FLEXIBLE_FROM;
  const reader = new Reader(frame);
  reader.skip(4);
  if (flexible) reader.skipTags();
  reader.skip(version >= 7 ? 10 : 4);
  const found: FetchedPartition[] | null = wantPartitions ? [] : null;
  const topicCount = flexible ? reader.compactArrayLength(3, false) : reader.arrayLength(6, false);
  for (let t = 0; t < topicCount && reader.ok; t += 1) {
    const topicAt = reader.position;
    if (version >= FETCH_IDS_FROM) reader.skip(16);
    else skipName(reader, flexible ? reader.uvarint() - 1 : reader.int16());
    const topicEnd = reader.position;
    let topic: string | undefined;
    const count = flexible ? reader.compactArrayLength(20, false) : reader.arrayLength(20, false);
    for (let p = 0; p < count && reader.ok; p += 1) {
      const index = reader.int32();
      reader.skip(version >= 5 ? 26 : 18);
      const aborted = flexible ? reader.compactArrayLength(16, true) : reader.arrayLength(16, true);
      if (flexible) for (let a = 0; a < aborted && reader.ok; a += 1) skipAborted(reader);
      else if (aborted > 0) reader.skip(aborted * 16);
      if (version >= 11) reader.skip(4);
      const lengthAt = reader.position;
      const size = flexible ? reader.uvarint() - 1 : reader.int32();
      const recordsAt = reader.position;
      if (size > 0) reader.skip(size);
      if (found !== null && size > 0 && reader.ok) {
        topic ??= topicText(frame, version, topicAt, topicEnd);
        found.push({ topic, index, lengthAt, recordsAt, recordsEnd: reader.position });
        if (found.length > MOST_KEPT) reader.bad(`more than ${MOST_KEPT} partitions with records`);
      }
      if (flexible) reader.skipTags();
    }
    if (flexible) reader.skipTags();
  }
  const tagsAt = reader.position;
  if (flexible) reader.skipTags();
  if (!reader.ok) return `Fetch v${version} response at byte ${reader.badAt}: ${reader.badReason}`;
  if (reader.remaining > 0) return `Fetch v${version} response: ${reader.remaining} bytes behind its end`;
  return { tagsAt, partitions: found ?? NONE };
}

function skipName(reader: Reader, size: number): void {
  if (size < 0) reader.bad('a topic name is null');
  else reader.skip(size);
}

function skipAborted(reader: Reader): void {
  reader.skip(16);
  reader.skipTags();
}

function topicText(frame: Buffer, version: number, at: number, end: number): string {
  if (version >= FETCH_IDS_FROM) return frame.toString('base64url', at, end);
  const reader = new Reader(frame, at, end);
  return version >= FETCH_FLEXIBLE_FROM ? reader.compactString() : reader.string();
}
