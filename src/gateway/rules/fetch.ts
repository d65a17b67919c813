import { isBarrierMarker, showBarrier } from '../../../protocol/records/barrier.ts';
import { baseOffset } from '../../../protocol/records/batch.ts';
import { RecordsError } from '../../../protocol/records/errors.ts';
import { walkBatches } from '../../../protocol/records/walk.ts';
import { fetchApi } from '../../../protocol/schema/01-fetch.ts';
import { rewriteEndpoints } from '../endpoints.ts';
import {
  FETCH_ENDPOINTS_FROM,
  FETCH_FLEXIBLE_FROM,
  FETCH_IDS_FROM,
  type FetchedPartition,
  type FetchShape,
  walkFetch,
} from '../fetch-walk.ts';
import type { KnownBarrier } from '../ports.ts';
import type { ApiRule, ResponseChunks, ResponseSeen } from '../rule.ts';
import { type Edit, int32Bytes, splice, uvarintBytes } from '../splice.ts';

/**
 * Fetch responses: addresses in NodeEndpoints (16+), and the barrier shown as control type 7 (DESIGN 5.7). Everything
 * else, record bytes above all, is written from where it was read.
 *
 * Requests pass unread. Versions below 4 carry neither control batches nor addresses and pass unread both ways.
 */
export const fetchRule: ApiRule = {
  key: fetchApi.key,
  versions: [0, fetchApi.max],
  response: { from: 4, largest: Number.POSITIVE_INFINITY, run },
};

function run(response: ResponseSeen): ResponseChunks | Promise<ResponseChunks> {
  const { frame, apiVersion, view, ids } = response;
  const barriers = view.anyBarrier;
  if (!barriers && apiVersion < FETCH_ENDPOINTS_FROM) return null;
  const shape = walkFetch(frame, apiVersion, barriers);
  if (typeof shape === 'string') throw new Error(shape);
  if (apiVersion < FETCH_IDS_FROM || shape.partitions.length === 0) return rewrite(response, shape);
  const unknown = shape.partitions.map(({ topic }) => topic).filter((id) => ids.needsLookup(id));
  if (unknown.length === 0) return rewrite(response, shape);
  return ids.resolve(unknown).then(() => rewrite(response, shape));
}

function rewrite(response: ResponseSeen, shape: FetchShape): ResponseChunks {
  const { frame, apiVersion, nodes, view, ids } = response;
  const edits: Edit[] = [];
  for (const partition of shape.partitions) {
    const name = apiVersion >= FETCH_IDS_FROM ? ids.nameOf(partition.topic) : partition.topic;
    const known = name === undefined ? [] : view.barriers(name, partition.index);
    if (known.length > 0) edits.push(...showBarriers(frame, partition, known, apiVersion));
  }
  if (apiVersion >= FETCH_ENDPOINTS_FROM) {
    const endpoints = rewriteEndpoints(frame, shape.tagsAt, nodes);
    if (endpoints !== null) edits.push(endpoints);
  }
  return edits.length === 0 ? null : splice(frame, edits);
}

/** The edits for one partition: the length of its records, and each barrier marker as a type 7 batch. */
function showBarriers(
  frame: Buffer,
  { lengthAt, recordsAt, recordsEnd }: FetchedPartition,
  known: readonly KnownBarrier[],
  version: number,
): Edit[] {
  const shown: Edit[] = [];
  let grown = 0;
  walkBatches(frame, recordsAt, recordsEnd, (at, size) => {
    if (!isBarrierMarker(frame, at)) return;
    const offset = baseOffset(frame, at);
    const barrier = known.find((candidate) => candidate.offset === offset);
    if (barrier === undefined) return;
    const batch = shownOrDamaged(frame, at, barrier);
    if (batch === undefined) return;
    shown.push({ from: at, to: at + size, bytes: batch });
    grown += batch.length - size;
  });
  if (shown.length === 0) return [];
  const length = recordsEnd - recordsAt + grown;
  const bytes = version >= FETCH_FLEXIBLE_FROM ? uvarintBytes(length + 1) : int32Bytes(length);
  return [{ from: lengthAt, to: recordsAt, bytes }, ...shown];
}

/** undefined: damaged. It passes as it stands, and the reader finds out as without us; a fault of ours would cut it off. */
function shownOrDamaged(frame: Buffer, at: number, { sourceClusterId }: KnownBarrier): Buffer | undefined {
  try {
    return showBarrier(frame, at, [sourceClusterId], { verifyCrc: true });
  } catch (error) {
    if (error instanceof RecordsError) return undefined;
    throw error;
  }
}
