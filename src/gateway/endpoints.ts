import { Reader } from '../../protocol/primitives/reader.ts';
import { Writer } from '../../protocol/primitives/writer.ts';
import type { NodeMap } from './node-map.ts';
import { MOST_KEPT } from './rule.ts';
import type { Edit } from './splice.ts';

/**
 * NodeEndpoints: tag 0 at the very end of Produce 10+ and Fetch 16+ responses (KIP-951), told with
 * NOT_LEADER_OR_FOLLOWER. A client dials what stands there at once, past Metadata (case P1).
 */
const NODE_ENDPOINTS_TAG = 0;

/**
 * The edit that puts our addresses into the tagged fields at [tagsAt, end of frame); null when no endpoint is there.
 * Brokers without an address of ours are left out; other tags stay as they are.
 * @throws Error when the bytes are no tagged fields
 */
export function rewriteEndpoints(frame: Buffer, tagsAt: number, nodes: NodeMap): Edit | null {
  if (tagsAt === frame.length - 1 && frame[tagsAt] === 0) return null;
  const reader = new Reader(frame, tagsAt);
  const count = reader.uvarint();
  if (count > MOST_KEPT) reader.bad(`${count} tagged fields`);
  const tags: { tag: number; bytes: Buffer }[] = [];
  let found = false;
  for (let index = 0; index < count && reader.ok; index += 1) {
    const tag = reader.uvarint();
    const bytes = reader.raw(reader.uvarint());
    found ||= tag === NODE_ENDPOINTS_TAG;
    tags.push({ tag, bytes });
  }
  if (!reader.ok || reader.remaining > 0)
    throw new Error(`tagged fields: ${reader.badReason ?? 'bytes behind them'}`);
  if (!found) return null;
  const writer = new Writer();
  writer.uvarint(tags.length);
  for (const { tag, bytes } of tags) {
    writer.uvarint(tag);
    writer.sized(() => {
      if (tag === NODE_ENDPOINTS_TAG) endpoints(writer, bytes, nodes);
      else writer.raw(bytes);
    });
  }
  if (!writer.ok) throw new Error(`node endpoints: ${writer.badReason}`);
  return { from: tagsAt, to: frame.length, bytes: writer.bytes() };
}

function endpoints(writer: Writer, bytes: Buffer, nodes: NodeMap): void {
  const reader = new Reader(bytes);
  const count = reader.compactArrayLength(7, false);
  if (count > MOST_KEPT) reader.bad(`${count} brokers`);
  const kept: { nodeId: number; host: string; port: number; rack: string | null; tags: Buffer }[] = [];
  for (let index = 0; index < count && reader.ok; index += 1) {
    const nodeId = reader.int32();
    reader.compactString();
    reader.int32();
    const rack = reader.compactNullableString();
    const tagsAt = reader.position;
    reader.skipTags();
    const address = nodes.addressOf(nodeId);
    if (address !== undefined)
      kept.push({ nodeId, ...address, rack, tags: bytes.subarray(tagsAt, reader.position) });
  }
  if (!reader.ok) throw new Error(`node endpoints: ${reader.badReason}`);
  writer.uvarint(kept.length + 1);
  for (const { nodeId, host, port, rack, tags } of kept) {
    writer.int32(nodeId);
    writer.compactString(host);
    writer.int32(port);
    writer.compactString(rack);
    writer.raw(tags);
  }
}
