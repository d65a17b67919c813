import { ErrorCode } from '../../../protocol/errors.ts';
import { isInternalTopic, parseTopicChoice } from '../topic-choice.ts';
import type { Draft } from '../ledger.ts';
import type { ClusterAdmin, SourceSession } from '../ports.ts';
import type { Copier, MirrorRecord, TopicError } from '../state/types.ts';
import { takenNames } from './held-topics.ts';
import { planTopics } from './topics-to-mirror.ts';
import { type Plan, Refused, type VerbRequest, type VerbWorld, refusedPlan } from './types.ts';

/**
 * `create`: names a source that the configuration knows and that answers, and is not the destination itself.
 * With `options.start` the topics begin in the same transaction: an entry of the YAML never stands half done.
 */
export async function planCreate(world: VerbWorld, request: VerbRequest): Promise<Plan> {
  let session: SourceSession | null = null;
  try {
    checkName(request.mirror);
    checkFree(world, request.mirror);
    const source = checkSource(world, request.options.source);
    const copier = checkCopier(request.options.copier);
    const topics = {
      include: [...(request.options.include ?? [])],
      exclude: [...(request.options.exclude ?? [])],
    };
    parseTopicChoice(topics.exclude);
    checkNames(world, request, topics);
    const replicationFactor = checkReplicationFactor(request.options.replicationFactor);

    session = await world.openSource(request.mirror, source);
    const sourceClusterId = await checkClusterIds(world, session.admin, request.options.sourceClusterId);
    const record = (at: number): MirrorRecord => ({
      kind: 'mirror',
      name: request.mirror,
      source,
      sourceClusterId,
      destination: world.destinationName,
      topics,
      copier,
      replicationFactor,
      createdAt: at,
      deletedAt: null,
    });
    const start =
      request.options.start === true && topics.include.length > 0
        ? await planTopics(world, record(0), session, topics.include, topics.exclude)
        : null;
    if (start !== null && request.options.isEntryOfFile !== true) checkBegins(start.topics);
    return {
      error: null,
      topics: start?.topics ?? [],
      existing: start?.existing ?? [],
      steps: [
        {
          do: 'create mirror',
          mirror: request.mirror,
          source,
          sourceClusterId,
          copier,
          include: topics.include,
          exclude: topics.exclude,
        },
        ...(start?.steps ?? []),
      ],
      notes: start?.notes ?? [],
      commits: [
        {
          topic: null,
          put(draft, at) {
            commitMirror(draft, record(at));
            for (const commit of start?.commits ?? []) commit.put(draft, at);
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

/** A mirror of which nothing can begin would only be in the way of the next try. */
function checkBegins(topics: readonly TopicError[]): void {
  const [first] = topics;
  if (first === undefined || topics.some(({ code }) => code === ErrorCode.NONE)) return;
  throw new Refused(first.code, topics.map(({ message }) => message).join('; '));
}

function commitMirror(draft: Draft, record: MirrorRecord): void {
  const there = draft.mirror(record.name);
  if (there !== undefined && there.deletedAt === null) {
    // The same command again after a crash between its changes and its result.
    if (there.createdAt === record.createdAt) return;
    throw alreadyExists(record.name);
  }
  draft.put(record);
}

function checkName(name: string): void {
  if (/^[a-zA-Z0-9._-]{1,200}$/.test(name)) return;
  const shown = name === '' ? 'an empty name' : JSON.stringify(name);
  throw new Refused(
    ErrorCode.INVALID_REQUEST,
    `${shown} can't name a mirror: 1 to 200 letters, digits, dots, underscores and hyphens`,
  );
}

function checkFree(world: VerbWorld, name: string): void {
  const there = world.view.mirrors.get(name);
  if (there !== undefined && there.deletedAt === null) throw alreadyExists(name);
}

function alreadyExists(name: string): Refused {
  return new Refused(ErrorCode.CLUSTER_MIRROR_ALREADY_EXISTS, `a mirror named ${name} exists already`);
}

/** What a mirror names must be its own: else its start could only be refused. */
function checkNames(world: VerbWorld, request: VerbRequest, topics: MirrorRecord['topics']): void {
  const internal = parseTopicChoice(topics.include).literals.find(isInternalTopic);
  if (internal !== undefined) {
    throw new Refused(
      ErrorCode.INVALID_TOPIC_EXCEPTION,
      `${internal} is an internal topic (__…): those are never mirrored`,
    );
  }
  if (request.options.isEntryOfFile === true) return;
  const taken = takenNames(world.view, request.mirror, topics);
  const [first] = taken;
  if (first !== undefined) throw new Refused(first.code, taken.map(({ message }) => message).join('; '));
}

function checkSource(world: VerbWorld, source: string | undefined): string {
  const known = [...world.clusters.keys()].filter((name) => name !== world.destinationName).join(', ');
  if (source === undefined || source === '') {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `the config must name its source: source = one of ${known}, or the bootstrap.servers of one of them`,
    );
  }
  if (!world.clusters.has(source)) {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `source ${JSON.stringify(source)} is not a configured cluster; configured: ${known}`,
    );
  }
  if (source === world.destinationName) {
    throw new Refused(ErrorCode.INVALID_REQUEST, `cluster ${source} can't be mirrored into itself`);
  }
  return source;
}

function checkCopier(copier: string | undefined): Copier {
  if (copier === undefined || copier === 'link' || copier === 'external') return copier ?? 'link';
  throw new Refused(ErrorCode.INVALID_CONFIG, `copier is link or external, not ${JSON.stringify(copier)}`);
}

function checkReplicationFactor(factor: number | undefined): number {
  if (factor === undefined) return 0;
  if (Number.isInteger(factor) && factor >= 1 && factor <= 32_767) return factor;
  throw new Refused(
    ErrorCode.INVALID_CONFIG,
    `topics.replication.factor ${factor} is not a number from 1 on`,
  );
}

/** Refuses a loop of one: the same cluster under two names, whatever its addresses are (case M12). */
async function checkClusterIds(
  world: VerbWorld,
  source: ClusterAdmin,
  expected: string | undefined,
): Promise<string> {
  const [sourceId, destinationId] = await Promise.all([source.clusterId(), world.destination.clusterId()]);
  if (sourceId === destinationId) {
    throw new Refused(
      ErrorCode.INVALID_REQUEST,
      `source ${source.name} and destination ${world.destinationName} are the same cluster (cluster id ${sourceId})`,
    );
  }
  if (expected !== undefined && expected !== '' && expected !== sourceId) {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `source ${source.name} has cluster id ${sourceId}, the request says ${expected}`,
    );
  }
  return sourceId;
}
