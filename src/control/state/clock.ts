/**
 * Moments on both clocks. What was true when a request was SENT may be trusted for a while only, and a process that
 * was stopped, or whose clock was set, must not trust it longer: elapsed time is the greater of the two (DESIGN 7).
 */
export interface Instant {
  /** ms, performance.now */
  readonly mono: number;
  /** ms since 1970 */
  readonly wall: number;
}

export type Clock = () => Instant;

export const systemClock: Clock = () => ({ mono: performance.now(), wall: Date.now() });

export function elapsed(since: Instant, now: Instant): number {
  return Math.max(now.mono - since.mono, now.wall - since.wall);
}
