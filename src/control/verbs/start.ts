import { ErrorCode } from '../../../protocol/errors.ts';
import type { Draft } from '../ledger.ts';
import type { SourceSession } from '../ports.ts';
import { planTopics } from './topics-to-mirror.ts';
import { type Plan, Refused, type VerbRequest, type VerbWorld, liveMirror, refusedPlan } from './types.ts';

/**
 * `start`: topics are names or whole-name patterns, resolved against the source. A topic that can't be mirrored
 * carries its own error and the others begin.
 */
export async function planStart(world: VerbWorld, request: VerbRequest): Promise<Plan> {
  let session: SourceSession | null = null;
  try {
    const mirror = liveMirror(world.view, request.mirror);
    const include = request.topics.length > 0 ? request.topics : request.all ? mirror.topics.include : [];
    if (include.length === 0) {
      throw new Refused(ErrorCode.INVALID_REQUEST, 'no topics are named: --topics T,/pattern/… or --all');
    }
    const exclude = [...mirror.topics.exclude, ...request.exclude];
    session = await world.openSource(mirror.name, mirror.source);
    const sourceId = await session.admin.clusterId();
    if (sourceId !== mirror.sourceClusterId) {
      throw new Refused(
        ErrorCode.INVALID_REQUEST,
        `source ${mirror.source} is now cluster id ${sourceId}, mirror ${mirror.name} was created for ` +
          `${mirror.sourceClusterId}`,
      );
    }
    const plan = await planTopics(world, mirror, session, include, exclude);
    if (plan.topics.length === 0) {
      throw new Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, plan.notes.join('; '));
    }
    return {
      ...plan,
      commits: [
        {
          topic: null,
          put(draft, at) {
            for (const commit of plan.commits) commit.put(draft, at);
            rememberChoice(draft, mirror.name, request.options.remember ?? include);
          },
        },
      ],
    };
  } catch (error) {
    return refusedPlan(error);
  } finally {
    await session?.close();
  }
}

/** KIP-1279: names and patterns of a start join the mirror's include list. */
function rememberChoice(draft: Draft, name: string, include: readonly string[]): void {
  const mirror = draft.mirror(name);
  if (mirror === undefined) return;
  const missing = include.filter((entry) => !mirror.topics.include.includes(entry));
  if (missing.length === 0) return;
  const topics = { ...mirror.topics, include: [...mirror.topics.include, ...missing] };
  draft.put({ ...mirror, topics });
}
