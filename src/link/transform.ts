import {
  LOG_OVERHEAD,
  BATCH_LENGTH_AT,
  MAGIC_AT,
  baseOffset,
  headerFault,
  isControl,
  isDense,
  isLogAppendTime,
  isTransactional,
  lastOffset,
  partitionLeaderEpoch,
  producerEpoch,
  producerId,
  recordCount,
  setBaseOffset,
} from '../../protocol/records/batch.ts';
import { barrierOf, readControlRecord } from '../../protocol/records/barrier.ts';
import type { ControlRecord } from '../../protocol/records/control.ts';
import {
  barrierIdOfHash,
  classifyId,
  mapProducerId,
  mapProducerIdInPlace,
} from '../../protocol/records/ids.ts';
import { isCrcValid } from '../../protocol/records/records.ts';
import { lengthFault } from '../../protocol/records/walk.ts';
import { linkFailure, nameOf, range } from './failure.ts';
import type { Frame } from './frame-pool.ts';
import type { Piece } from './pieces.ts';
import type { LinkFailure, PartitionRef } from './ports.ts';
import { textOf } from '../net/error-text.ts';

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: number;
}

/** One partition of a READ_COMMITTED Fetch response: whole batches, all below the last stable offset. */
export interface SourceChunk {
  /** Changed in place: ids mapped, CRCs patched, base offsets 0. */
  readonly records: Buffer;
  /** Of this response. It names also what began before it, so nothing is remembered between responses. */
  readonly aborted: readonly AbortedTransaction[];
  /** First offset that is wanted; what lies below is dropped. */
  readonly next: number;
  /** Held once for every data piece that is made. */
  readonly frame: Frame | null;
}

export interface Transformed {
  readonly pieces: Piece[];
  /** First offset that is wanted of the next response. */
  readonly next: number;
  /** Leader epoch of the last batch taken, -1 when there was none. */
  readonly epoch: number;
  /** Why nothing may follow behind `pieces`, or null. */
  readonly failure: LinkFailure | null;
}

/**
 * Turns a response into pieces, batch by batch, headers only (DESIGN 5.3):
 *
 *     committed or plain data            data, in place
 *     batch of an aborted transaction    as many inert offsets
 *     COMMIT                             commit with the mapped id
 *     ABORT, unknown control type        inert
 *     barrier, as marker or type 7       barrier with the same hash and generation
 *
 * An id is aborted from the first offset of its aborted transaction to its ABORT marker. An ABORT marker that no
 * entry belongs to changes nothing (case C4).
 */
export function transform(ref: PartitionRef, chunk: SourceChunk): Transformed {
  const { records } = chunk;
  const end = records.length;
  const pieces: Piece[] = [];
  const aborts = chunk.aborted.length === 0 ? null : new AbortTracker(chunk.aborted);
  let next = chunk.next;
  let epoch = -1;
  let at = 0;
  const stop = (failure: LinkFailure): Transformed => ({ pieces, next, epoch, failure });

  while (end - at > MAGIC_AT) {
    const length = records.readInt32BE(at + BATCH_LENGTH_AT);
    const magic = records[at + MAGIC_AT] as number;
    const size = LOG_OVERHEAD + length;
    if (length > 0 && at + size > end) break;
    const impossible = lengthFault(length, magic);
    if (impossible !== undefined) return stop(badBatch(ref, next, impossible));
    if (magic !== 2) {
      const offset = baseOffset(records, at);
      if (offset < next) {
        at += size;
        continue;
      }
      return stop(
        linkFailure(
          'old-magic',
          `${nameOf(ref)}: the batch at source offset ${offset} has message format ${magic}, which can't be mirrored yet; rewrite the topic with a current producer or mirror it from a later offset`,
          offset,
        ),
      );
    }
    const fault = headerFault(records, at);
    if (fault !== undefined) {
      const beyond = baseOffset(records, at) > Number.MAX_SAFE_INTEGER || fault.includes('2^53');
      if (beyond) {
        return stop(linkFailure('offset-range', `${nameOf(ref)}: ${fault}, which can't be mirrored`, next));
      }
      return stop(badBatch(ref, next, fault));
    }
    const base = baseOffset(records, at);
    const last = lastOffset(records, at);
    aborts?.reach(last);
    if (last < next) {
      if (aborts !== null && isControl(records, at)) aborts.marker(producerId(records, at));
      at += size;
      continue;
    }
    if (base > next) return stop(gap(ref, next, base, 'between batches'));
    if (!isDense(records, at)) {
      const where = recordCount(records, at) === 0 ? 'in an empty batch' : 'inside a batch';
      return stop(gap(ref, base, last + 1, where));
    }

    const batchEpoch = partitionLeaderEpoch(records, at);
    if (isControl(records, at)) {
      let control: ControlRecord;
      try {
        control = readControlRecord(records, at);
      } catch (error) {
        return stop(badBatch(ref, base, `control batch: ${textOf(error)}`));
      }
      aborts?.marker(producerId(records, at));
      if (last !== base) {
        // only KRaft's own log has control batches of several records; each offset must still be filled
        addInert(pieces, next, last + 1, batchEpoch);
      } else {
        const failure = addMarker(ref, pieces, control, records, at, base, batchEpoch);
        if (failure !== null) return stop(failure);
      }
    } else if (aborts !== null && isTransactional(records, at) && aborts.has(producerId(records, at))) {
      // its bytes go nowhere, so nobody behind us would see that it was the id that was damaged
      if (!isCrcValid(records, at)) return stop(badBatch(ref, base, 'its CRC is wrong'));
      addInert(pieces, next, last + 1, batchEpoch);
    } else {
      if (base < next) {
        return stop(
          linkFailure(
            'foreign-write',
            `${nameOf(ref)}: the destination ends at ${next}, inside the source batch ${range(base, last + 1)}; a mirror never ends there, so something else was written or lost; rebuild the topic`,
            next,
          ),
        );
      }
      if (isLogAppendTime(records, at)) {
        return stop(
          linkFailure(
            'log-append-time',
            `${nameOf(ref)}: the batch at source offset ${base} carries LogAppendTime, which can't be mirrored yet; set message.timestamp.type=CreateTime on the source topic and mirror new data only`,
            base,
          ),
        );
      }
      const transactional = isTransactional(records, at);
      if (mapProducerIdInPlace(records, at) === 'refused')
        return stop(idRange(ref, base, producerId(records, at)));
      setBaseOffset(records, at, 0);
      chunk.frame?.hold();
      pieces.push({
        kind: 'data',
        offset: base,
        next: last + 1,
        epoch: batchEpoch,
        bytes: records.subarray(at, at + size),
        transactional,
        frame: chunk.frame,
      });
    }
    next = last + 1;
    epoch = batchEpoch;
    at += size;
  }
  return { pieces, next, epoch, failure: null };
}

/** Which ids are inside an aborted transaction at the batch being looked at. */
class AbortTracker {
  readonly #waiting: AbortedTransaction[];
  readonly #active = new Set<bigint>();
  #at = 0;

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#waiting = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Takes in the transactions that begin at or before `offset`. */
  reach(offset: number): void {
    for (; this.#at < this.#waiting.length; this.#at += 1) {
      const entry = this.#waiting[this.#at] as AbortedTransaction;
      if (entry.firstOffset > offset) return;
      this.#active.add(entry.producerId);
    }
  }

  /** A marker of this id ends its transaction. */
  marker(id: bigint): void {
    this.#active.delete(id);
  }

  has(id: bigint): boolean {
    return this.#active.has(id);
  }
}

function addInert(pieces: Piece[], offset: number, next: number, epoch: number): void {
  const last = pieces[pieces.length - 1];
  if (last?.kind === 'inert' && last.epoch === epoch) {
    pieces[pieces.length - 1] = { kind: 'inert', offset: last.offset, next, epoch };
  } else {
    pieces.push({ kind: 'inert', offset, next, epoch });
  }
}

function addMarker(
  ref: PartitionRef,
  pieces: Piece[],
  control: ControlRecord,
  buf: Buffer,
  at: number,
  offset: number,
  epoch: number,
): LinkFailure | null {
  const barrier = barrierOf(control, buf, at);
  if (barrier !== undefined) {
    pieces.push({
      kind: 'barrier',
      offset,
      next: offset + 1,
      epoch,
      producerId: barrierIdOfHash(barrier.hash),
      producerEpoch: 0,
      coordinatorEpoch: barrier.generation,
    });
    return null;
  }
  const id = producerId(buf, at);
  // a filler of a chained mirror stands at the offset it names, so ours is the same marker
  const inert = control.kind !== 'end-transaction' || control.type === 'ABORT' || classifyId(id) === 'filler';
  if (inert || id === -1n) {
    addInert(pieces, offset, offset + 1, epoch);
    return null;
  }
  // a broker refuses the whole marker request for an epoch of -1, and no coordinator writes one
  if (producerEpoch(buf, at) === -1) return badBatch(ref, offset, 'a COMMIT marker with producer epoch -1');
  let mapped: bigint;
  try {
    mapped = mapProducerId(id);
  } catch {
    return idRange(ref, offset, id);
  }
  pieces.push({
    kind: 'commit',
    offset,
    next: offset + 1,
    epoch,
    producerId: mapped,
    producerEpoch: producerEpoch(buf, at),
    coordinatorEpoch: control.coordinatorEpoch,
  });
  return null;
}

function gap(ref: PartitionRef, from: number, to: number, where: string): LinkFailure {
  return linkFailure(
    'offset-gap',
    `${nameOf(ref)}: source offsets ${range(from, to)} have gaps ${where} (compaction), which can't be mirrored yet; exclude the topic`,
    from,
  );
}

function idRange(ref: PartitionRef, offset: number, id: bigint): LinkFailure {
  return linkFailure(
    'producer-id-range',
    `${nameOf(ref)}: producer id ${id} at source offset ${offset} is at or above 2^61-2 and has no mapped id`,
    offset,
  );
}

function badBatch(ref: PartitionRef, offset: number, reason: string): LinkFailure {
  return linkFailure(
    'bad-batch',
    `${nameOf(ref)}: the source's batch at offset ${offset} can't be read: ${reason}; check the source log with kafka-dump-log.sh`,
    offset,
  );
}
