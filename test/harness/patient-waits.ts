import { vi } from 'vitest';

/**
 * `vi.waitFor` gives up after one second unless told otherwise, less than a busy machine may keep a process waiting.
 * Here it waits as long as `until` does: a wait ends by what it waits for, and a bound that is part of a promise is
 * asserted on its own. Looking more often costs nothing and lets the tests go on sooner.
 */
const { waitFor } = vi;
const patient = { timeout: 30_000, interval: 10 };

vi.waitFor = (look, options) =>
  waitFor(look, typeof options === 'number' ? options : { ...patient, ...options });
