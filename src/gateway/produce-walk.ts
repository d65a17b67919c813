import { Reader } from '../../protocol/primitives/reader.ts';

/**
 * A Produce request (3-13) by its positions: acks, topics, partitions, and where their records lie. Nothing is
 * decoded inside the records and nothing copied, whatever their size.
 */
export interface ProducePartition {
  readonly index: number;
  /** The whole partition entry in the frame. */
  readonly from: number;
  readonly to: number;
  /** Its record bytes; recordsAt = -1 for null. */
  readonly recordsAt: number;
  readonly recordsEnd: number;
}

export interface ProduceTopic {
  /** Up to version 12. */
  readonly name: string | undefined;
  /** From version 13 on. */
  readonly topicId: string | undefined;
  /** The whole topic entry, and the part of it up to its partition count. */
  readonly from: number;
  readonly to: number;
  readonly headEnd: number;
  /** Where the partitions end: tagged fields follow in flexible versions. */
  readonly partitionsEnd: number;
  readonly partitions: readonly ProducePartition[];
}

export interface ProduceShape {
  readonly acks: number;
  readonly transactionalId: string | null;
  /** Where the count of topics begins, and where the last topic ends. */
  readonly topicsAt: number;
  readonly topicsEnd: number;
  readonly topics: readonly ProduceTopic[];
}

export const PRODUCE_FLEXIBLE_FROM = 9;
/** Topics and partitions of one request; each becomes an object, and a frame has room for millions (case S3). */
const MOST_ENTRIES = 100_000;
export const PRODUCE_IDS_FROM = 13;

/** @returns the shape, or a text that says what is wrong and where */
export function walkProduce(frame: Buffer, bodyOffset: number, version: number): ProduceShape | string {
  const flexible = version >= PRODUCE_FLEXIBLE_FROM;
  const reader = new Reader(frame, bodyOffset);
  const transactionalId = flexible ? reader.compactNullableString() : reader.nullableString();
  const acks = reader.int16();
  reader.int32();
  const topicsAt = reader.position;
  const topics: ProduceTopic[] = [];
  let entries = 0;
  const countOf = (smallest: number): number => {
    const count = flexible ? reader.compactArrayLength(smallest, false) : reader.arrayLength(smallest, false);
    entries += count;
    if (entries > MOST_ENTRIES) reader.bad(`more than ${MOST_ENTRIES} topics and partitions in one request`);
    return count;
  };
  const topicCount = countOf(3);
  for (let t = 0; t < topicCount && reader.ok; t += 1) {
    const from = reader.position;
    let name: string | undefined;
    let topicId: string | undefined;
    if (version >= PRODUCE_IDS_FROM) topicId = reader.uuid();
    else name = flexible ? reader.compactString() : reader.string();
    const headEnd = reader.position;
    const partitions: ProducePartition[] = [];
    const count = countOf(6);
    for (let p = 0; p < count && reader.ok; p += 1) {
      const at = reader.position;
      const index = reader.int32();
      const size = flexible ? reader.uvarint() - 1 : reader.int32();
      const recordsAt = size < 0 ? -1 : reader.position;
      if (size > 0) reader.skip(size);
      const recordsEnd = size < 0 ? -1 : reader.position;
      if (flexible) reader.skipTags();
      partitions.push({ index, from: at, to: reader.position, recordsAt, recordsEnd });
    }
    const partitionsEnd = reader.position;
    if (flexible) reader.skipTags();
    topics.push({ name, topicId, from, to: reader.position, headEnd, partitionsEnd, partitions });
  }
  const topicsEnd = reader.position;
  if (flexible) reader.skipTags();
  if (!reader.ok) return `Produce v${version} at byte ${reader.badAt}: ${reader.badReason}`;
  if (reader.remaining > 0) return `Produce v${version}: ${reader.remaining} bytes behind its end`;
  return { acks, transactionalId, topicsAt, topicsEnd, topics };
}
