export interface UntilOptions {
  /** Milliseconds after which it is given up. */
  timeoutMs?: number;
  /** Milliseconds between two looks. */
  everyMs?: number;
}

/**
 * Looks until `condition` gives something other than false, null or undefined, and gives that back. A throwing look
 * counts as not yet. At the time limit an Error names what was waited for and the last thing that was thrown.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 20 }: UntilOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) {
        return value as Exclude<T, false | null | undefined>;
      }
    } catch (error) {
      last = error;
    }
    if (performance.now() >= end) {
      throw new Error(`waited ${timeoutMs} ms in vain until ${what}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
