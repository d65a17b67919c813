import { produceApi } from '../../protocol/schema/00-produce.ts';
import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import type { LaneEngine } from './append-lane.ts';
import { linkFailure, nameOf } from './failure.ts';
import { type ReplyVerdict, judgeProduceReply } from './judge.ts';
import { type AppendRequest, IDLE, type MirrorPartition } from './partition.ts';
import type { DataPiece } from './pieces.ts';
import {
  PRODUCE_MAX,
  PRODUCE_MIN,
  ProduceEncoder,
  type ProduceEntry,
  type ProduceItem,
  copiedBytes,
  decodeProduceReply,
} from './produce-request.ts';
import type { LinkFailure } from './ports.ts';
import { type RequestLimits, tooLargeForRequest } from './request-limits.ts';
import type { LinkSettings } from './settings.ts';
import { textOf } from '../net/error-text.ts';

/** What the appender does with the outcome of a request; each is called exactly once per partition and request. */
export interface Outcomes {
  replied(partition: MirrorPartition, request: AppendRequest, verdict: ReplyVerdict): void;
  /** The connection ended without a reply. */
  lost(partition: MirrorPartition, request: AppendRequest, why: string): void;
  /** An offered partition may not be sent as it is (new leader epoch ...): look at it anew. */
  rejected(partition: MirrorPartition): void;
  /** An offered partition whose next append no request can hold. */
  unsendable(partition: MirrorPartition, failure: LinkFailure): void;
}

export interface DataItem extends ProduceItem {
  readonly partition: MirrorPartition;
  request: AppendRequest | null;
}

/** Bytes of a partition's entry besides its batch, and of the whole request. */
const ENTRY_OVERHEAD = 300;
const REQUEST_OVERHEAD = 700;

/** Data batches by Produce, acks=all: one batch of each partition a request, as stock brokers demand. */
export class DataEngine implements LaneEngine<DataItem[]> {
  /** Lanes carry the mirror's name: several links may share a cluster object. */
  readonly name: string;
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #limits: RequestLimits;
  readonly #transactionalId: string;
  readonly #outcomes: Outcomes;
  readonly #encoders = new Map<number, ProduceEncoder>();

  constructor(
    cluster: Cluster,
    settings: LinkSettings,
    limits: RequestLimits,
    mirror: string,
    outcomes: Outcomes,
  ) {
    this.name = `append:${mirror}`;
    this.#limits = limits;
    this.#cluster = cluster;
    this.#settings = settings;
    this.#transactionalId = `isthmus-${mirror}`;
    this.#outcomes = outcomes;
  }

  gather(ready: MirrorPartition[], nodeId: number): { cargo: DataItem[] | null; rest: MirrorPartition[] } {
    const items: DataItem[] = [];
    const rest: MirrorPartition[] = [];
    let bytes = REQUEST_OVERHEAD;
    let copied = 0;
    const most = this.#limits.of(nodeId);
    const readable = this.#limits.ofBroker(nodeId);
    for (const partition of ready) {
      if (partition.append.at !== 'offered') continue;
      const piece = partition.queue.head;
      if (piece === undefined || piece.kind !== 'data' || !standsAt(this.#cluster, partition, nodeId)) {
        partition.append = IDLE;
        this.#outcomes.rejected(partition);
        continue;
      }
      const size = piece.bytes.length + ENTRY_OVERHEAD;
      if (REQUEST_OVERHEAD + size > readable) {
        const why = tooLargeForRequest(piece.bytes.length, nodeId, readable);
        const message = `${nameOf(partition.ref)}: the batch at source offset ${piece.offset} can't be appended: ${why}`;
        partition.append = IDLE;
        this.#outcomes.unsendable(partition, linkFailure('refused-by-broker', message, piece.offset, true));
        continue;
      }
      const copy = copiedBytes(piece);
      const fits = bytes + size <= most && copied + copy <= this.#settings.copyBytes;
      if (items.length > 0 && !fits) {
        rest.push(partition);
        continue;
      }
      bytes += size;
      copied += copy;
      items.push({
        ref: partition.ref,
        topicId: partition.resume.destinationTopicId,
        piece,
        partition,
        request: null,
      });
    }
    return { cargo: items.length === 0 ? null : items, rest };
  }

  send(connection: BrokerConnection, nodeId: number, items: DataItem[], finished: () => void): void {
    const version = connection.commonVersion(produceApi, PRODUCE_MAX) ?? -1;
    if (version < PRODUCE_MIN) {
      for (const { partition } of items) {
        this.#outcomes.replied(partition, requestOf(partition, nodeId), {
          kind: 'resend',
          error: `${connection.peer} knows no Produce ${PRODUCE_MIN}: the destination must be Kafka 3.6 or later`,
        });
      }
      finished();
      return;
    }
    if (items.length > 1) groupByTopic(items);
    let transactional = false;
    for (const item of items) {
      const request = requestOf(item.partition, nodeId);
      item.request = request;
      item.partition.append = { at: 'sent', request };
      item.partition.turn += 1;
      transactional ||= item.piece.transactional;
    }
    let encoder = this.#encoders.get(nodeId);
    if (encoder === undefined) this.#encoders.set(nodeId, (encoder = new ProduceEncoder()));
    const chunks = encoder.encode(
      version,
      connection.clientId,
      transactional ? this.#transactionalId : null,
      this.#settings.produceTimeoutMs,
      items,
    );
    connection.sendRaw(chunks, true, (error, frame) => {
      if (frame === null) {
        for (const { partition, request } of items) {
          if (error?.sentBytes === false) {
            const verdict: ReplyVerdict = { kind: 'resend', error: error.message };
            this.#outcomes.replied(partition, request as AppendRequest, verdict);
          } else {
            this.#outcomes.lost(partition, request as AppendRequest, error?.message ?? 'connection lost');
          }
        }
      } else {
        this.#judge(version, frame, items);
      }
      finished();
    });
  }

  #judge(version: number, frame: Buffer, items: readonly DataItem[]): void {
    let entries: ProduceEntry[];
    try {
      entries = decodeProduceReply(version, frame);
    } catch (fault) {
      const verdict: ReplyVerdict = { kind: 'open', error: textOf(fault) };
      for (const { partition, request } of items) {
        this.#outcomes.replied(partition, request as AppendRequest, verdict);
      }
      return;
    }
    for (let i = 0; i < items.length; i += 1) {
      const item = items[i] as DataItem;
      const entry = findEntry(entries, i, item);
      const request = item.request as AppendRequest;
      const verdict: ReplyVerdict =
        entry === undefined
          ? { kind: 'open', error: 'the reply has no entry for the partition' }
          : judgeProduceReply(
              item.ref,
              request,
              entry.errorCode,
              entry.baseOffset,
              entry.errorMessage,
              entry.stamped,
            );
      this.#outcomes.replied(item.partition, request, verdict);
    }
  }
}

/** Whether what was last read of the partition still holds: this broker leads it, in the epoch of that reading. */
export function standsAt(cluster: Cluster, partition: MirrorPartition, nodeId: number): boolean {
  const leader = cluster.leaderOf(partition.ref.topic, partition.ref.partition);
  return leader?.nodeId === nodeId && leader.leaderEpoch === partition.verifiedEpoch;
}

function requestOf(partition: MirrorPartition, nodeId: number): AppendRequest {
  const piece = partition.queue.head as DataPiece;
  return { kind: 'data', from: piece.offset, to: piece.next, nodeId, sentAt: performance.now() };
}

/** Partitions of one topic must stand together; the order among them stays. */
function groupByTopic(items: DataItem[]): void {
  items.sort((a, b) => (a.ref.topic < b.ref.topic ? -1 : a.ref.topic > b.ref.topic ? 1 : 0));
}

/** Brokers mostly answer in the order of the request, so the same place is tried first. */
function findEntry(entries: readonly ProduceEntry[], i: number, item: ProduceItem): ProduceEntry | undefined {
  const matches = (entry: ProduceEntry | undefined): boolean =>
    entry !== undefined &&
    entry.partition === item.ref.partition &&
    (entry.topic === item.ref.topic || entry.topic === item.topicId);
  return matches(entries[i]) ? entries[i] : entries.find(matches);
}
