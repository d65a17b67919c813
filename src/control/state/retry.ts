import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterIdMismatchError } from '../../net/cluster.ts';
import { UnsupportedVersionError } from '../../net/connection.ts';
import { StateFenced, StateUnusable } from './types.ts';
import { textOf } from '../../net/error-text.ts';

/** One try: done with a value, or to be tried again because of something that passes. */
export type Attempt<T> = { readonly done: T } | { readonly again: string; readonly soon?: boolean };

/** The broker refused a write for good: too large, not allowed. Nothing of it is in the log. */
export class StateWriteRefused extends Error {
  override readonly name = 'StateWriteRefused';
}

/** The store was closed while something waited. */
export class StateClosed extends Error {
  override readonly name = 'StateClosed';
}

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 1_000;
/** A coordinator that still writes the last transaction's markers is ready within a few ms, unless one has no leader. */
const SOON_MS = 10;
const SOON_TRIES = 100;

/**
 * Tries until it is done, with growing pauses; lost connections count as `again`. Every request of the state store can
 * be repeated: the broker knows it by producer id, epoch and sequence, or it is a question.
 * @throws StateClosed when `signal` is aborted; whatever of StateFenced, StateUnusable, StateWriteRefused, an
 *   unsupported version or a foreign cluster the attempt throws
 */
export async function persist<T>(
  what: string,
  signal: AbortSignal,
  attempt: () => Promise<Attempt<T>>,
  onAgain: (why: string) => void = () => undefined,
): Promise<T> {
  let delay = FIRST_DELAY_MS;
  for (let tries = 1; ; tries++) {
    if (signal.aborted) throw new StateClosed(`${what}: given up, the state store was closed`);
    let outcome: Attempt<T>;
    try {
      outcome = await attempt();
    } catch (error) {
      if (isFinal(error)) throw error;
      outcome = { again: textOf(error) };
    }
    if ('done' in outcome) return outcome.done;
    onAgain(`${what}: ${outcome.again}`);
    const soon = outcome.soon === true && tries <= SOON_TRIES;
    await pause(soon ? Math.min(delay, SOON_MS) : delay, signal);
    delay = Math.min(delay * 2, LONGEST_DELAY_MS);
  }
}

/** Resolves after `ms`, or at once when aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

function isFinal(error: unknown): boolean {
  return (
    error instanceof StateFenced ||
    error instanceof StateUnusable ||
    error instanceof StateWriteRefused ||
    error instanceof StateClosed ||
    error instanceof UnsupportedVersionError ||
    error instanceof ClusterIdMismatchError
  );
}
