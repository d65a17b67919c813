import { ErrorCode } from '../../../protocol/errors.ts';
import { partitionKey } from '../state/types.ts';
import {
  type Plan,
  Refused,
  type VerbRequest,
  type VerbWorld,
  liveMirror,
  outageOf,
  refusedPlan,
} from './types.ts';

/** `delete`: forgets a mirror whose topics are all STOPPED. Topics, records and barriers stay. */
export function planDelete(world: VerbWorld, request: VerbRequest): Plan {
  try {
    const mirror = liveMirror(world.view, request.mirror);
    checkStopped(world, mirror.name);
    const topics = [...world.view.topics.values()].filter((topic) => topic.mirror === mirror.name);
    return {
      error: null,
      topics: [],
      existing: [],
      steps: [{ do: 'delete mirror', mirror: mirror.name, topics: topics.map(({ topic }) => topic) }],
      notes: [
        `failback from ${world.destinationName} needs this record: without it the old source's topics can't be ` +
          'adopted and everything is copied again. The topics themselves stay as they are',
      ],
      commits: [
        {
          topic: null,
          put(draft, at) {
            const record = draft.mirror(mirror.name);
            if (record === undefined || record.deletedAt !== null) return;
            draft.put({ ...record, deletedAt: at });
            for (const { topic: name } of topics) {
              const topic = draft.topic(name);
              if (topic?.mirror === mirror.name) draft.put({ ...topic, mirror: null });
            }
          },
        },
      ],
    };
  } catch (error) {
    return refusedPlan(error);
  }
}

function checkStopped(world: VerbWorld, mirror: string): void {
  const { view } = world;
  for (const topic of view.topics.values()) {
    if (topic.mirror !== mirror) continue;
    if (topic.desired !== 'STOPPED') {
      throw new Refused(
        ErrorCode.CLUSTER_MIRROR_NOT_EMPTY,
        `mirror ${mirror} still mirrors ${topic.topic}; stop its topics first`,
      );
    }
    const away = outageOf(world, topic.topic, topic.partitions);
    if (away !== null) throw new Refused(away.code, away.message);
    for (let partition = 0; partition < topic.partitions; partition++) {
      const state = view.partitions.get(partitionKey(topic.topic, partition))?.state ?? 'UNKNOWN';
      if (state === 'STOPPED' || state === 'UNKNOWN') continue;
      throw new Refused(
        ErrorCode.INVALID_CLUSTER_MIRROR_STATES,
        `${topic.topic}-${partition} of mirror ${mirror} is ${state}, not STOPPED`,
      );
    }
  }
}
