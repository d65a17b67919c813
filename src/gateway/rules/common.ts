import { ClusterIdMismatchError } from '../../net/cluster.ts';
import type { RuleServices, Verdict } from '../rule.ts';
import { FORWARD } from '../rule.ts';
import type { MirrorView } from '../ports.ts';

/** Correlation id of a response frame (without its size): always its first four bytes. */
export function correlationIdOf(frame: Buffer): number {
  return frame.readInt32BE(0);
}

/**
 * An address of ours may have gone to another cluster meanwhile: a client that mixes the metadata of two writes to the
 * wrong one (case F5), and topic ids would be learnt wrongly.
 * @throws ClusterIdMismatchError
 */
export function checkCluster({ config, clusterId }: RuleServices, told: string | null): void {
  const ours = clusterId();
  if (told === null || ours === null || told === ours) return;
  throw new ClusterIdMismatchError(`gateway ${config.name}`, 'its broker', ours, told);
}

/** A request that the guard has to judge: waits while the mirrors' state is not loaded. */
export function whenLoaded(view: MirrorView, judge: () => Verdict): Verdict {
  if (view.freshness() === 'loading') return { kind: 'wait', until: view.whenLoaded() };
  return judge();
}

export { FORWARD };
