import { crcOf, splitBatches } from './batch.ts';

/**
 * One partition's log in memory, as a leader keeps it: batches in order, leader epochs, and for producer ids >= 0 the
 * open and the aborted transactions (a stock broker keeps no state for negative ids). Everything appended is
 * committed at once: high watermark = log end, unless a test holds it back with `holdHighWatermark`.
 */
export interface StoredBatch {
  readonly base: number;
  readonly last: number;
  readonly bytes: Buffer;
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: number;
  readonly lastOffset: number;
}

export type AppendRefusal = 'CORRUPT_MESSAGE' | 'INVALID_RECORD';

export class FakeLog {
  readonly topic: string;
  readonly partition: number;
  readonly batches: StoredBatch[] = [];
  /** Ascending; the last one is the current epoch. */
  readonly epochs: { epoch: number; start: number }[] = [{ epoch: 0, start: 0 }];
  readonly aborted: AbortedTransaction[] = [];
  logStart = 0;
  end = 0;
  #held: number | null = null;
  readonly #open = new Map<bigint, number>();

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get highWatermark(): number {
    return this.#held ?? this.end;
  }

  get lastStableOffset(): number {
    return Math.min(this.highWatermark, ...this.#open.values());
  }

  get leaderEpoch(): number {
    return this.epochs.at(-1)?.epoch ?? 0;
  }

  /** The high watermark stays where it is until `releaseHighWatermark`. */
  holdHighWatermark(at: number = this.highWatermark): void {
    this.#held = at;
  }

  releaseHighWatermark(): void {
    this.#held = null;
  }

  newLeaderEpoch(epoch: number = this.leaderEpoch + 1): void {
    this.epochs.push({ epoch, start: this.end });
  }

  /** What a client may append by Produce: exactly one dense data batch with a good CRC. */
  appendFromClient(records: Buffer): { base: number } | { refused: AppendRefusal; message: string } {
    const batches = splitBatches(records);
    const [batch] = batches;
    if (batch === undefined || batches.length !== 1 || batch.length !== records.length) {
      return { refused: 'INVALID_RECORD', message: `${batches.length} batches` };
    }
    if (batch.readInt8(16) !== 2) return { refused: 'INVALID_RECORD', message: 'magic' };
    if (crcOf(batch) !== batch.readUInt32BE(17)) return { refused: 'CORRUPT_MESSAGE', message: 'crc' };
    if ((batch.readInt16BE(21) & 0x20) !== 0) return { refused: 'INVALID_RECORD', message: 'control batch' };
    if (batch.readBigInt64BE(0) !== 0n) return { refused: 'INVALID_RECORD', message: 'base offset' };
    const count = batch.readInt32BE(57);
    if (count < 1 || count !== batch.readInt32BE(23) + 1)
      return { refused: 'INVALID_RECORD', message: 'count' };
    return { base: this.append(batch) };
  }

  /** Appends one batch of any kind at the end, as the leader does. Returns its base offset. */
  append(batch: Buffer): number {
    const base = this.end;
    return this.#store(batch, base, base + batch.readInt32BE(23));
  }

  /** Appends one batch at its own base offset, which may leave a gap (a compacted source log). */
  appendAt(batch: Buffer, base: number): number {
    if (base < this.end) throw new Error(`${base} lies below the end ${this.end}`);
    return this.#store(batch, base, base + batch.readInt32BE(23));
  }

  #store(batch: Buffer, base: number, last: number): number {
    const bytes = Buffer.from(batch);
    bytes.writeBigInt64BE(BigInt(base), 0);
    bytes.writeInt32BE(this.leaderEpoch, 12);
    this.batches.push({ base, last, bytes });
    this.end = last + 1;
    this.#track(bytes, base, last);
    return base;
  }

  #track(batch: Buffer, base: number, last: number): void {
    const producerId = batch.readBigInt64BE(43);
    const attributes = batch.readInt16BE(21);
    if (producerId < 0n || (attributes & 0x10) === 0) return;
    if ((attributes & 0x20) === 0) {
      if (!this.#open.has(producerId)) this.#open.set(producerId, base);
      return;
    }
    const firstOffset = this.#open.get(producerId);
    this.#open.delete(producerId);
    // control record: length, attributes, two deltas, key length and the key (int16 version, int16 type)
    const commit = batch.readInt16BE(61 + 5 + 2) === 1;
    if (!commit && firstOffset !== undefined)
      this.aborted.push({ producerId, firstOffset, lastOffset: last });
  }

  /** Whole batches from the one that holds `offset` up to `limit`, at least one, then at most `maxBytes`. */
  read(offset: number, limit: number, maxBytes: number): Buffer {
    const parts: Buffer[] = [];
    let size = 0;
    for (const { last, base, bytes } of this.batches) {
      if (last < offset || base < this.logStart - (last - base)) continue;
      if (base >= limit || (parts.length > 0 && size + bytes.length > maxBytes)) break;
      parts.push(bytes);
      size += bytes.length;
    }
    return Buffer.concat(parts);
  }

  /** Aborted transactions that overlap [from, to). */
  abortedIn(from: number, to: number): AbortedTransaction[] {
    return this.aborted.filter((entry) => entry.lastOffset >= from && entry.firstOffset < to);
  }

  /** OffsetForLeaderEpoch: the largest epoch <= the asked one and where it ends; undefined when there is none. */
  endOfEpoch(asked: number): { epoch: number; end: number } | undefined {
    const index = this.epochs.findLastIndex(({ epoch }) => epoch <= asked);
    const found = this.epochs[index];
    if (found === undefined || asked > this.leaderEpoch) return undefined;
    return { epoch: found.epoch, end: this.epochs[index + 1]?.start ?? this.end };
  }

  /** Drops everything from `offset` on, as an unclean election does. */
  truncate(offset: number): void {
    while ((this.batches.at(-1)?.base ?? -1) >= offset) this.batches.pop();
    this.end = (this.batches.at(-1)?.last ?? this.logStart - 1) + 1;
  }
}
