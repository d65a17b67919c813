import { ErrorCode } from '../../../protocol/errors.ts';
import { barrierHash } from '../../../protocol/records/ids.ts';
import type { Draft } from '../ledger.ts';
import { chosenOf, isInternalTopic, parseTopicChoice } from '../topic-choice.ts';
import { stateColumns, stateOf, stop } from '../states.ts';
import {
  type MirrorRecord,
  type PartitionRecord,
  type TopicError,
  type TopicRecord,
  partitionKey,
} from '../state/types.ts';
import { type LossForecast, forecastLoss } from '../loss.ts';
import {
  type Plan,
  Refused,
  type VerbRequest,
  type VerbWorld,
  liveMirror,
  outageOf,
  refusedPlan,
  topicError,
} from './types.ts';

/**
 * `stop` and `failover`, which are one thing here: from any state to STOPPED, without asking the source. A pattern
 * that also matches ordinary topics acts on the mirrored ones; a topic that is stopped already is no error.
 */
export async function planStop(world: VerbWorld, request: VerbRequest): Promise<Plan> {
  try {
    const mirror = liveMirror(world.view, request.mirror);
    const chosen = await chooseTopics(world, mirror, request);
    const topics = chosen.topics.filter(
      ({ topic, partitions }) => outageOf(world, topic, partitions) === null,
    );
    const away = chosen.topics.flatMap(({ topic, partitions }) => outageOf(world, topic, partitions) ?? []);
    const errors = [...chosen.errors, ...away];
    const acceptDamage = request.options.acceptDamage === true;
    return {
      error: null,
      topics: [...errors, ...topics.map(({ topic }) => topicError(topic, ErrorCode.NONE, ''))],
      existing: topics.map(({ topic }) => topic),
      steps: topics.flatMap((topic) => forecast(world, mirror.name, topic)),
      notes: [],
      commits: topics.map(({ topic }) => ({
        topic,
        put: (draft, at) => commitStop(draft, mirror, topic, acceptDamage, at),
      })),
    };
  } catch (error) {
    return refusedPlan(error);
  }
}

async function chooseTopics(
  world: VerbWorld,
  mirror: MirrorRecord,
  request: VerbRequest,
): Promise<{ topics: TopicRecord[]; errors: TopicError[] }> {
  const ours = [...world.view.topics.values()].filter((topic) => topic.mirror === mirror.name);
  if (request.all) return { topics: ours, errors: [] };
  if (request.topics.length === 0) {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'no topics are named: --topics T,/pattern/… or --all');
  }
  const choice = parseTopicChoice(request.topics);
  const chosen = chosenOf(
    choice,
    ours.map(({ topic }) => topic),
  );
  const topics = ours.filter(({ topic }) => chosen.has(topic));
  const errors: TopicError[] = [];
  for (const name of choice.literals) {
    if (!topics.some(({ topic }) => topic === name)) errors.push(await notOurs(world, mirror, name));
  }
  return { topics, errors };
}

async function notOurs(world: VerbWorld, mirror: MirrorRecord, name: string): Promise<TopicError> {
  const other = world.view.topics.get(name);
  if (other !== undefined && other.mirror !== null) {
    return topicError(
      name,
      ErrorCode.TOPIC_NOT_IN_CLUSTER_MIRROR,
      `${name} belongs to mirror ${other.mirror}, not to ${mirror.name}`,
    );
  }
  const exists = isInternalTopic(name) || (await world.destination.describeTopic(name)) !== null;
  return exists
    ? topicError(name, ErrorCode.UNKNOWN_CLUSTER_MIRROR, `${name} is an ordinary topic of no mirror`)
    : topicError(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `there is no topic ${name}`);
}

function commitStop(
  draft: Draft,
  mirror: MirrorRecord,
  name: string,
  acceptDamage: boolean,
  at: number,
): void {
  const topic = draft.topic(name);
  if (topic === undefined || topic.mirror !== mirror.name) return;
  if (topic.desired !== 'STOPPED') draft.put({ ...topic, desired: 'STOPPED' });
  for (let partition = 0; partition < topic.partitions; partition++) {
    const record = draft.partition(name, partition);
    if (record === undefined) continue;
    const state = stateOf(record);
    if (state.name === 'STOPPED') continue;
    if (state.name === 'STOPPING' && (!acceptDamage || record.stop?.acceptDamage === true)) continue;
    draft.put({
      ...record,
      ...stateColumns(stop(state)),
      stop: {
        step: 0,
        barrierOffset: -1,
        generation: topic.generation,
        barrierHash: barrierHash(record.sourceClusterId),
        startedAt: at,
        ...record.stop,
        acceptDamage: acceptDamage || (record.stop?.acceptDamage ?? false),
      },
    });
  }
}

function forecast(world: VerbWorld, mirror: string, topic: TopicRecord): (LossForecast & { do: string })[] {
  const steps: (LossForecast & { do: string })[] = [];
  for (let partition = 0; partition < topic.partitions; partition++) {
    const record: PartitionRecord | undefined = world.view.partitions.get(
      partitionKey(topic.topic, partition),
    );
    if (record === undefined || record.state === 'STOPPED') continue;
    const progress = world.progress(mirror, { topic: topic.topic, partition });
    steps.push({
      do: 'stop behind a barrier and open to writers',
      ...forecastLoss(record, progress, world.now()),
    });
  }
  return steps;
}
