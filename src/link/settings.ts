/**
 * What a link may use, and the bound on its memory.
 *
 * Bytes held by one mirror at most:
 *
 *     bufferBytes                         source responses being read, queued or appended, all partitions together,
 *                                         and buffers kept for the next ones
 *   + bufferBytes / 2 + 4 KiB x partitions   objects of queued batches and markers
 *   + one batch                           the first batch of a response may be larger than fetchMaxBytes
 *   + brokers x 2 x copyBytes             batches below 32 KiB are copied into their request
 *   + brokers x 2 x maxMarkersPerRequest x (32 + length of the topic's name)
 *   + 2 x compareBytes x 4                read-backs: stored tail and source beside each other, 4 comparisons at once
 *
 * With the defaults that is at most 36 MiB + the largest batch + about 2 MiB a destination broker + 4 MiB for 1,000
 * partitions, and 8 MiB while tails are compared.
 * It doesn't grow with the size of topics: a partition is only asked for more when its queue has
 * room, and a Fetch is only sent when its whole answer fits into what is left of `bufferBytes`.
 */
export interface LinkSettings {
  /** Bytes of source responses held at once. */
  readonly bufferBytes: number;
  /** Largest answer asked of one source broker; at most a quarter of `bufferBytes` is used. */
  readonly fetchMaxBytes: number;
  /** How long a source broker may wait for data, in ms. */
  readonly fetchMaxWaitMs: number;
  /**
   * A Fetch of whose answer nothing came for so long is given up with its connection: the broker may be stopped or cut
   * off while others lead its partitions already. Unlike an append, a Fetch may be given up at any time.
   */
  readonly fetchSilenceMs: number;
  /** Fetch connections for each source broker; partitions are spread over them. */
  readonly fetchers: number;
  /** Upper bound on the rate read from the source, bytes a second over all partitions; null: none. */
  readonly maxBytesPerSecond: number | null;
  /** Largest request to a destination broker; must stay below its `socket.request.max.bytes`. */
  readonly maxRequestBytes: number;
  /** Batches below 32 KiB are copied into the request, at most this many bytes of them. */
  readonly copyBytes: number;
  /** Markers of one partition in one request, and of all partitions together. */
  readonly maxMarkersPerPartition: number;
  readonly maxMarkersPerRequest: number;
  /** `timeout.ms` of Produce: how long a destination broker waits for its followers. */
  readonly produceTimeoutMs: number;
  /** Time-out of one question of a read-back; these go over connections of their own. */
  readonly readBackTimeoutMs: number;
  /** How long `remove` waits for an unanswered append before it gives up, naming the broker. */
  readonly silenceMs: number;
  /**
   * After so long a request counts as silent and a partition that can't be appended as stuck: it is not fetched for,
   * and lets go of buffers that others wait for.
   */
  readonly silentAfterMs: number;
  /** How often the ends of idle partitions are read. */
  readonly endWatchMs: number;
  /** How long an end must stand still before a request that may have held markers counts as ended. */
  readonly markerStillMs: number;
  /** First and longest wait after a passing error. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** Request-handler threads assumed of a broker whose `num.io.threads` can't be read. */
  readonly ioThreads: number;
  /** Bytes read at once from each side while tails are compared. */
  readonly compareBytes: number;
}

const MIB = 1024 * 1024;

export const defaultLinkSettings: LinkSettings = {
  bufferBytes: 24 * MIB,
  fetchMaxBytes: 4 * MIB,
  fetchMaxWaitMs: 500,
  fetchSilenceMs: 10_000,
  fetchers: 1,
  maxBytesPerSecond: null,
  maxRequestBytes: 8 * MIB,
  copyBytes: 512 * 1024,
  maxMarkersPerPartition: 2_000,
  maxMarkersPerRequest: 8_000,
  produceTimeoutMs: 30_000,
  readBackTimeoutMs: 2_000,
  silenceMs: 60_000,
  silentAfterMs: 5_000,
  endWatchMs: 1_000,
  markerStillMs: 2_000,
  backoffMs: 100,
  maxBackoffMs: 5_000,
  ioThreads: 8,
  compareBytes: MIB,
};
