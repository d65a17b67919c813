import { parseResponseHeader } from '../../protocol/frame/headers.ts';
import { Reader } from '../../protocol/primitives/reader.ts';
import { Writer } from '../../protocol/primitives/writer.ts';
import { ProtocolError } from '../../protocol/protocol-error.ts';
import type { Marker } from './pieces.ts';
import type { PartitionRef } from './ports.ts';

/** WriteTxnMarkers 1 and 2 by hand: a request may hold thousands of markers, all COMMIT, one partition each. */
export const MARKERS_KEY = 27;
export const MARKERS_MIN = 1;
export const MARKERS_MAX = 2;

export interface MarkerGroup {
  readonly ref: PartitionRef;
  /** In log order; no id twice, for the broker merges its answers by id. */
  readonly markers: readonly Marker[];
}

export class MarkerEncoder {
  readonly #writer = new Writer({ capacity: 4096 });

  /** One request. The chunks are good until the next call. */
  encode(version: number, clientId: string, groups: readonly MarkerGroup[]): Uint8Array[] {
    const out = this.#writer;
    out.reset();
    out.int32(0);
    out.int16(MARKERS_KEY);
    out.int16(version);
    out.int32(0);
    out.string(clientId);
    out.uvarint(0);
    let count = 0;
    for (const group of groups) count += group.markers.length;
    out.uvarint(count + 1);
    for (const { ref, markers } of groups) {
      for (const marker of markers) {
        out.int64(marker.producerId);
        out.int16(marker.producerEpoch);
        out.bool(true);
        out.uvarint(2);
        out.compactString(ref.topic);
        out.uvarint(2);
        out.int32(ref.partition);
        out.uvarint(0);
        out.int32(marker.coordinatorEpoch);
        if (version >= 2) out.int8(0);
        out.uvarint(0);
      }
    }
    out.uvarint(0);
    if (!out.ok) throw new ProtocolError(`WriteTxnMarkers v${version} request`, out.badReason ?? 'bad value');
    return out.chunks();
  }
}

/**
 * The first error of each partition (0: none), keyed by topic and partition. A partition that the answer doesn't
 * name is not in the map.
 * @throws ProtocolError when the frame can't be read
 */
export function decodeMarkerReply(version: number, frame: Buffer): Map<string, Map<number, number>> {
  const { bodyOffset } = parseResponseHeader(MARKERS_KEY, version, frame);
  const reader = new Reader(frame, bodyOffset);
  const errors = new Map<string, Map<number, number>>();
  const markers = reader.compactArrayLength(10, false);
  for (let m = 0; m < markers && reader.ok; m += 1) {
    reader.skip(8);
    const topics = reader.compactArrayLength(3, false);
    for (let t = 0; t < topics && reader.ok; t += 1) {
      const topic = reader.compactString();
      const partitions = reader.compactArrayLength(7, false);
      let known = errors.get(topic);
      if (known === undefined) errors.set(topic, (known = new Map()));
      for (let p = 0; p < partitions && reader.ok; p += 1) {
        const partition = reader.int32();
        const code = reader.int16();
        reader.skipTags();
        if (code !== 0 || !known.has(partition)) known.set(partition, known.get(partition) || code);
      }
      reader.skipTags();
    }
    reader.skipTags();
  }
  reader.skipTags();
  if (!reader.ok) {
    throw new ProtocolError(
      `WriteTxnMarkers v${version} response`,
      reader.badReason ?? 'bad bytes',
      '',
      reader.badAt,
    );
  }
  return errors;
}
