import { BATCH_LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, RECORDS_AT } from './batch.ts';

/** Smallest counted length of a v2 batch (an empty one) and of a v0 message (no key, no value). */
const MIN_LENGTH_V2 = RECORDS_AT - LOG_OVERHEAD;
const MIN_LENGTH_V0 = 14;

export interface WalkResult {
  /** Position behind the last whole batch that was visited. */
  readonly endedAt: number;
  /** Whole batches visited, messages of format 0 and 1 included. */
  readonly batches: number;
  /**
   * True when a batch at `endedAt` goes on past the end: the normal tail of a Fetch response. A hostile
   * length looks the same, so whoever waits for the rest bounds `needed` first.
   */
  readonly partial: boolean;
  /** Bytes of that partial batch; 0 when not even its length is there, or nothing is partial. */
  readonly needed: number;
  /** Set when the bytes at `at` can't be a batch; nothing behind them was visited. */
  readonly bad?: { readonly at: number; readonly reason: string };
}

/**
 * Visits each whole batch in `buf[start, end)` with its position and total size, in order. Nothing is
 * allocated or copied and only length and magic are looked at; `visit` may return false to stop.
 * Batches of magic 0 and 1 are visited too (`magic(buf, at)` tells): the caller decides what they mean.
 */
export function walkBatches(
  buf: Buffer,
  start: number,
  end: number,
  visit: (at: number, size: number) => boolean | void,
): WalkResult {
  let at = start;
  let batches = 0;
  while (at < end) {
    const left = end - at;
    if (left < LOG_OVERHEAD) return { endedAt: at, batches, partial: true, needed: 0 };
    const length = buf.readInt32BE(at + BATCH_LENGTH_AT);
    const magicByte = left > MAGIC_AT ? buf.readInt8(at + MAGIC_AT) : undefined;
    const reason = lengthFault(length, magicByte);
    if (reason !== undefined) {
      return { endedAt: at, batches, partial: false, needed: 0, bad: { at, reason } };
    }
    const size = LOG_OVERHEAD + length;
    if (size > left) return { endedAt: at, batches, partial: true, needed: size };
    const goOn = visit(at, size);
    at += size;
    batches++;
    if (goOn === false) break;
  }
  return { endedAt: at, batches, partial: false, needed: 0 };
}

/** Why a batch of this length and magic can't be, or undefined; the magic may not have arrived yet. */
export function lengthFault(length: number, magicByte: number | undefined): string | undefined {
  if (length < MIN_LENGTH_V0) return `batch length ${length} is too small`;
  if (magicByte === undefined) return undefined;
  if (magicByte < 0 || magicByte > 2) return `unknown batch format (magic ${magicByte})`;
  if (magicByte === 2 && length < MIN_LENGTH_V2) return `batch length ${length} is too small for a header`;
  return undefined;
}
