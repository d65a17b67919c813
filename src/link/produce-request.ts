import { Reader } from '../../protocol/primitives/reader.ts';
import { Writer } from '../../protocol/primitives/writer.ts';
import { ProtocolError } from '../../protocol/protocol-error.ts';
import { parseResponseHeader } from '../../protocol/frame/headers.ts';
import type { DataPiece } from './pieces.ts';
import type { PartitionRef } from './ports.ts';

/**
 * Produce 9 to 13 by hand: the request is the hottest thing a link makes. Sizes are known before anything is written,
 * small batches are copied beside their headers (one write to the system instead of three), large ones stay views.
 */
export const PRODUCE_KEY = 0;
export const PRODUCE_MIN = 9;
export const PRODUCE_MAX = 13;
const BY_ID_FROM = 13;
const COPY_BELOW = 32 * 1024;

export interface ProduceItem {
  readonly ref: PartitionRef;
  /** Kafka's 22-character form; sent from version 13 on, so that a recreated topic is refused. */
  readonly topicId: string;
  readonly piece: DataPiece;
}

/** Bytes of a batch that are copied into the request; 0 for one that goes out as a view. */
export function copiedBytes(piece: DataPiece): number {
  return piece.bytes.length < COPY_BELOW ? piece.bytes.length : 0;
}

export class ProduceEncoder {
  readonly #writer = new Writer({ keepFrom: COPY_BELOW, capacity: 2 * COPY_BELOW });

  /**
   * One request, acks=all. Items of one topic must stand together; a partition at most once.
   * The chunks are good until the next call.
   */
  encode(
    version: number,
    clientId: string,
    transactionalId: string | null,
    timeoutMs: number,
    items: readonly ProduceItem[],
  ): Uint8Array[] {
    const out = this.#writer;
    out.reset();
    out.int32(0);
    out.int16(PRODUCE_KEY);
    out.int16(version);
    out.int32(0);
    out.string(clientId);
    out.uvarint(0);
    out.compactString(transactionalId);
    out.int16(-1);
    out.int32(timeoutMs);
    out.uvarint(topicCount(items) + 1);
    for (let i = 0; i < items.length; ) {
      const first = items[i] as ProduceItem;
      let behind = i + 1;
      while (behind < items.length && (items[behind] as ProduceItem).ref.topic === first.ref.topic)
        behind += 1;
      if (version >= BY_ID_FROM) out.uuid(first.topicId);
      else out.compactString(first.ref.topic);
      out.uvarint(behind - i + 1);
      for (; i < behind; i += 1) {
        const item = items[i] as ProduceItem;
        out.int32(item.ref.partition);
        out.uvarint(item.piece.bytes.length + 1);
        out.raw(item.piece.bytes);
        out.uvarint(0);
      }
      out.uvarint(0);
    }
    out.uvarint(0);
    if (!out.ok) throw new ProtocolError(`Produce v${version} request`, out.badReason ?? 'bad value');
    return out.chunks();
  }
}

export interface ProduceEntry {
  /** Name, or topic id from version 13 on. */
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** -1 when nothing was appended (or nothing is known to be). */
  readonly baseOffset: number;
  /** The broker replaced the records' times by its own (the topic has LogAppendTime). */
  readonly stamped: boolean;
  readonly errorMessage: string | null;
}

/**
 * The entries of a Produce reply in the order in which the broker gave them, which need not be that of the request.
 * @throws ProtocolError when the frame can't be read
 */
export function decodeProduceReply(version: number, frame: Buffer): ProduceEntry[] {
  const { bodyOffset } = parseResponseHeader(PRODUCE_KEY, version, frame);
  const reader = new Reader(frame, bodyOffset);
  const entries: ProduceEntry[] = [];
  const topics = reader.compactArrayLength(3, false);
  for (let t = 0; t < topics && reader.ok; t += 1) {
    const topic = version >= BY_ID_FROM ? reader.uuid() : reader.compactString();
    const partitions = reader.compactArrayLength(30, false);
    for (let p = 0; p < partitions && reader.ok; p += 1) {
      const partition = reader.int32();
      const errorCode = reader.int16();
      const baseOffset = reader.offset64();
      // -1 unless the broker stamped the batch: its upper half tells
      const stamped = reader.int32() >= 0;
      reader.skip(12);
      const faults = reader.compactArrayLength(6, false);
      let fault: string | null = null;
      for (let f = 0; f < faults && reader.ok; f += 1) {
        reader.skip(4);
        fault = reader.compactNullableString() ?? fault;
        reader.skipTags();
      }
      const errorMessage = reader.compactNullableString() ?? fault;
      reader.skipTags();
      entries.push({ topic, partition, errorCode, baseOffset, stamped, errorMessage });
    }
    reader.skipTags();
  }
  reader.skip(4);
  reader.skipTags();
  if (!reader.ok) {
    throw new ProtocolError(
      `Produce v${version} response`,
      reader.badReason ?? 'bad bytes',
      '',
      reader.badAt,
    );
  }
  return entries;
}

function topicCount(items: readonly ProduceItem[]): number {
  let count = 0;
  let topic: string | null = null;
  for (const item of items) {
    if (item.ref.topic === topic) continue;
    topic = item.ref.topic;
    count += 1;
  }
  return count;
}
