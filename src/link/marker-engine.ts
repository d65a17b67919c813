import { offsetForLeaderEpochApi } from '../../protocol/schema/23-offset-for-leader-epoch.ts';
import { writeTxnMarkersApi } from '../../protocol/schema/27-write-txn-markers.ts';
import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import type { ConnectionClosedError } from '../net/close-cause.ts';
import type { LaneEngine } from './append-lane.ts';
import { type Outcomes, standsAt } from './data-engine.ts';
import { judgeMarkerReply } from './judge.ts';
import {
  MARKERS_MAX,
  MARKERS_MIN,
  MarkerEncoder,
  type MarkerGroup,
  decodeMarkerReply,
} from './marker-request.ts';
import { type AppendRequest, IDLE, type MirrorPartition } from './partition.ts';
import { type Marker, markerAt } from './pieces.ts';
import type { RequestLimits } from './request-limits.ts';
import type { LinkSettings } from './settings.ts';
import { textOf } from '../net/error-text.ts';

export interface MarkerItem extends MarkerGroup {
  readonly partition: MirrorPartition;
  readonly from: number;
  /** Destination leader epoch in which the end is read behind the markers. */
  readonly epoch: number;
  request: AppendRequest | null;
}

/** Of one marker besides the topic's name; of the request. */
const MARKER_BYTES = 32;
const REQUEST_OVERHEAD = 700;

interface EndBehind {
  readonly errorCode: number;
  readonly leaderEpoch: number;
  readonly end: number;
}

/**
 * Markers by WriteTxnMarkers. Its reply has no offsets, so the end is read by an OffsetForLeaderEpoch sent right
 * behind on the same connection, which the broker answers after it (DESIGN 5.5 rule 2).
 */
export class MarkerEngine implements LaneEngine<MarkerItem[]> {
  readonly name: string;
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #limits: RequestLimits;
  readonly #outcomes: Outcomes;
  readonly #encoders = new Map<number, MarkerEncoder>();

  constructor(
    cluster: Cluster,
    settings: LinkSettings,
    limits: RequestLimits,
    mirror: string,
    outcomes: Outcomes,
  ) {
    this.name = `markers:${mirror}`;
    this.#limits = limits;
    this.#cluster = cluster;
    this.#settings = settings;
    this.#outcomes = outcomes;
  }

  gather(ready: MirrorPartition[], nodeId: number): { cargo: MarkerItem[] | null; rest: MirrorPartition[] } {
    const items: MarkerItem[] = [];
    const rest: MirrorPartition[] = [];
    let room = this.#settings.maxMarkersPerRequest;
    let bytes = this.#limits.of(nodeId) - REQUEST_OVERHEAD;
    for (const partition of ready) {
      if (partition.append.at !== 'offered') continue;
      const head = partition.queue.head;
      if (head === undefined || head.kind === 'data' || !standsAt(this.#cluster, partition, nodeId)) {
        partition.append = IDLE;
        this.#outcomes.rejected(partition);
        continue;
      }
      const each = MARKER_BYTES + Buffer.byteLength(partition.ref.topic);
      // one always goes: a broker that reads less takes no request at all
      const fit = Math.max(items.length === 0 ? 1 : 0, Math.floor(bytes / each));
      if (room === 0 || fit === 0) {
        rest.push(partition);
        continue;
      }
      const markers = nextMarkers(partition, Math.min(room, fit, this.#settings.maxMarkersPerPartition));
      room -= markers.length;
      bytes -= markers.length * each;
      items.push({
        ref: partition.ref,
        markers,
        partition,
        from: head.offset,
        epoch: partition.verifiedEpoch,
        request: null,
      });
    }
    return { cargo: items.length === 0 ? null : items, rest };
  }

  send(connection: BrokerConnection, nodeId: number, items: MarkerItem[], finished: () => void): void {
    const version = connection.commonVersion(writeTxnMarkersApi, MARKERS_MAX) ?? -1;
    const sentAt = performance.now();
    for (const item of items) {
      const request: AppendRequest = {
        kind: 'markers',
        from: item.from,
        to: item.from + item.markers.length,
        nodeId,
        sentAt,
      };
      item.request = request;
      item.partition.append = { at: 'sent', request };
      item.partition.turn += 1;
    }
    if (version < MARKERS_MIN) {
      const error = `${connection.peer} offers no WriteTxnMarkers: it is not a Kafka 3.6+ broker, or a proxy hides it`;
      for (const { partition, request } of items) {
        this.#outcomes.replied(partition, request as AppendRequest, { kind: 'resend', error });
      }
      finished();
      return;
    }
    let encoder = this.#encoders.get(nodeId);
    if (encoder === undefined) this.#encoders.set(nodeId, (encoder = new MarkerEncoder()));

    let lost: ConnectionClosedError | null = null;
    let errors: Map<string, Map<number, number>> | null = null;
    connection.sendRaw(encoder.encode(version, connection.clientId, items), true, (error, frame) => {
      lost = error;
      if (frame === null) return;
      try {
        errors = decodeMarkerReply(version, frame);
      } catch {
        errors = new Map();
      }
    });
    const conclude = (ends: Map<string, EndBehind> | null, why: string): void => {
      for (const item of items) {
        const { partition, ref } = item;
        const request = item.request as AppendRequest;
        if (lost !== null && lost.sentBytes) {
          this.#outcomes.lost(partition, request, lost.message);
        } else if (lost !== null) {
          this.#outcomes.replied(partition, request, { kind: 'resend', error: lost.message });
        } else {
          const behind = ends?.get(keyOf(ref.topic, ref.partition));
          const verdict = judgeMarkerReply(
            ref,
            request,
            errors?.get(ref.topic)?.get(ref.partition) ?? null,
            behind?.errorCode ?? null,
            // where an older epoch ended is not the end of the log
            behind?.leaderEpoch === item.epoch ? behind.end : -1,
          );
          const said = verdict.kind === 'open' && ends === null ? { ...verdict, error: why } : verdict;
          this.#outcomes.replied(partition, request, said);
        }
      }
      finished();
    };
    connection.call(offsetForLeaderEpochApi, endQuestion(items)).then(
      (answer) => {
        const ends = new Map<string, EndBehind>();
        for (const topic of answer.topics) {
          for (const { partition, errorCode, leaderEpoch, endOffset } of topic.partitions) {
            ends.set(keyOf(topic.topic, partition), { errorCode, leaderEpoch, end: endOffset });
          }
        }
        conclude(ends, '');
      },
      (error: unknown) => conclude(null, textOf(error)),
    );
  }
}

/** Markers at the head of the queue: of one known epoch, no id twice (the broker merges its answers by id). */
function nextMarkers(partition: MirrorPartition, limit: number): Marker[] {
  const markers: Marker[] = [];
  const ids = new Set<bigint>();
  for (let i = 0; markers.length < limit; i += 1) {
    const piece = partition.queue.at(i);
    if (piece === undefined || piece.kind === 'data' || partition.mustBegin(piece.epoch)) return markers;
    for (let offset = piece.offset; offset < piece.next && markers.length < limit; offset += 1) {
      const marker = markerAt(piece, offset);
      if (ids.has(marker.producerId)) return markers;
      ids.add(marker.producerId);
      markers.push(marker);
    }
  }
  return markers;
}

function endQuestion(items: readonly MarkerItem[]) {
  const byTopic = Map.groupBy(items, (item) => item.ref.topic);
  return {
    replicaId: -1,
    topics: [...byTopic].map(([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(({ ref, epoch }) => ({
        partition: ref.partition,
        currentLeaderEpoch: epoch,
        leaderEpoch: epoch,
      })),
    })),
  };
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
