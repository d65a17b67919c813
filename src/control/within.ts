import type { Surroundings } from './ports.ts';

/** What the promise gives, or undefined when that takes longer than `ms`. The clock is let go as soon as it is known. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  surroundings: Pick<Surroundings, 'sleep'>,
): Promise<T | undefined> {
  const known = new AbortController();
  const late = surroundings.sleep(ms, known.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    known.abort();
  }
}
