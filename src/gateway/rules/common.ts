import type { Verdict } from '../rule.ts';
import { FORWARD } from '../rule.ts';
import type { MirrorView } from '../ports.ts';

/** Correlation id of a response frame (without its size): always its first four bytes. */
export function correlationIdOf(frame: Buffer): number {
  return frame.readInt32BE(0);
}

/** A request that the guard has to judge: waits while the mirrors' state is not loaded. */
export function whenLoaded(view: MirrorView, judge: () => Verdict): Verdict {
  if (view.freshness() === 'loading') return { kind: 'wait', until: view.whenLoaded() };
  return judge();
}

export { FORWARD };
