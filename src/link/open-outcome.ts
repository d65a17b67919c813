import type { EndReading } from './end-reader.ts';
import { LinkFailureError } from './failure.ts';
import type { AppendRequest, MirrorPartition } from './partition.ts';
import { GivenUpError, backoff, pause } from './pause.ts';
import type { Piece } from './pieces.ts';
import type { LinkFailure } from './ports.ts';
import type { LinkSettings } from './settings.ts';
import type { Settled, Settler } from './settler.ts';
import { tellUnclear } from './unclear.ts';
import { textOf } from '../net/error-text.ts';

/**
 * What a partition's queue and its log say together about an append whose outcome nobody told (DESIGN 5.5 rule 7). The
 * settler reads and probes one request; here it is asked until it knows, with what the queue expects to find.
 */
export interface OpenOutcomeOptions {
  readonly mirror: string;
  readonly settings: LinkSettings;
  readonly settler: Settler;
  readonly signalOf: (partition: MirrorPartition) => AbortSignal;
  readonly fail: (partition: MirrorPartition, failure: LinkFailure) => void;
}

export interface OpenAppend {
  readonly request: AppendRequest;
  /** Its own reply came, so it runs no more. */
  readonly ended: boolean;
  /** What the reply means once the log shows that nothing was appended. */
  readonly refusal: LinkFailure | undefined;
}

/**
 * Asks until the log tells what became of the append, then calls `apply`. A passing error leaves the outcome as open as
 * it was: never resend, ask again. Ends without a call when the partition is closed or failed.
 */
export async function untilSettled(
  { mirror, settings, settler, signalOf, fail }: OpenOutcomeOptions,
  partition: MirrorPartition,
  { request, ended, refusal }: OpenAppend,
  apply: (settled: Settled) => void,
): Promise<void> {
  const reason = partition.appendError ?? 'the reply left it open';
  const told = tellUnclear(mirror, partition.ref, request.from, reason);
  const signal = signalOf(partition);
  const onWait = (why: string): void => {
    partition.appendError = why;
  };
  for (let faults = 0; ; faults += 1) {
    try {
      const settled = await settler.settle({
        ref: partition.ref,
        topicId: partition.resume.destinationTopicId,
        span: request,
        ended,
        expected: (offset) => pieceCovering(partition, offset),
        signal,
        onWait,
      });
      if (partition.closed) return;
      partition.settledBy = settled.by;
      told(settled.reading.end, settled.by);
      if (refusal !== undefined && settled.verdict.kind === 'resend') fail(partition, refusal);
      else apply(settled);
      return;
    } catch (error) {
      if (partition.closed || error instanceof GivenUpError) return;
      if (error instanceof LinkFailureError) {
        fail(partition, error.failure);
        return;
      }
      onWait(textOf(error));
    }
    await pause(backoff(settings.backoffMs, settings.maxBackoffMs, faults), signal).catch(() => undefined);
    if (partition.closed) return;
  }
}

/** A lost request may have landed after all: what stands there and comes next anyhow is taken for appended. */
export async function takeWhatIsOurs(
  { settler, signalOf }: OpenOutcomeOptions,
  partition: MirrorPartition,
  reading: EndReading,
): Promise<void> {
  partition.compared = true;
  try {
    const matchedTo = await settler.matchedTo(
      {
        ref: partition.ref,
        topicId: partition.resume.destinationTopicId,
        span: { kind: 'markers', from: partition.end, to: reading.end },
        ended: true,
        expected: (offset) => pieceCovering(partition, offset),
        signal: signalOf(partition),
        onWait: () => undefined,
      },
      reading,
    );
    if (partition.closed || matchedTo < reading.end) return;
    partition.appended(reading.end);
    partition.settledBy = 'look';
  } finally {
    partition.compared = false;
  }
}

/** The queued piece at `offset`; asked in ascending order by a comparison of one request, so a scan is enough. */
function pieceCovering(partition: MirrorPartition, offset: number): Piece | undefined {
  for (let i = 0; ; i += 1) {
    const piece = partition.queue.at(i);
    if (piece === undefined || piece.offset > offset) return undefined;
    if (offset < piece.next) return piece;
  }
}
