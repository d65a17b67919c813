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

/** As the promise ends, or `late()` thrown when that takes longer than `ms`. What it becomes later is nobody's. */
export async function inTime<T>(
  ms: number,
  promise: Promise<T>,
  surroundings: Pick<Surroundings, 'sleep'>,
  late: () => Error,
): Promise<T> {
  const known = new AbortController();
  const passed = surroundings.sleep(ms, known.signal).then(
    () => {
      throw late();
    },
    () => promise,
  );
  passed.catch(() => undefined);
  try {
    return await Promise.race([promise, passed]);
  } finally {
    known.abort();
  }
}
