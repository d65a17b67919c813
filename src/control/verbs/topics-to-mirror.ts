import { ErrorCode } from '../../../protocol/errors.ts';
import type { Draft } from '../ledger.ts';
import { type LocalTransactions, localTransactionsText } from '../local-transactions.ts';
import type { SourceSession, TopicDescription } from '../ports.ts';
import { align, stateColumns, UNKNOWN } from '../states.ts';
import { chosenOf, isInternalTopic, parseTopicChoice, resolveTopics } from '../topic-choice.ts';
import { sourceSettings, mirrorSettings, ownedSettings, usesRemoteStorage } from '../topic-settings.ts';
import type { MirrorRecord, PartitionRecord, TopicError } from '../state/types.ts';
import { lineageOf } from './chains.ts';
import { standingOf } from './held-topics.ts';
import { type Plan, Refused, type VerbWorld, asVerbError, outageOf, topicError } from './types.ts';

interface Candidate {
  readonly source: TopicDescription;
  readonly settings: Readonly<Record<string, string | null>>;
  readonly destination: TopicDescription | null;
  readonly step: object;
}

/**
 * The topics of a source that names and patterns mean, each judged: what would begin, and why not. Of `start`, and of
 * a `create` that starts.
 */
export async function planTopics(
  world: VerbWorld,
  mirror: MirrorRecord,
  session: SourceSession,
  include: readonly string[],
  exclude: readonly string[],
): Promise<Plan> {
  const atSource = new Map((await session.admin.listTopics()).map((topic) => [topic.name, topic]));
  const literalInternal = include.filter((name) => isInternalTopic(name));
  const wanted = parseTopicChoice(include);
  const unwanted = parseTopicChoice(exclude);
  const left = chosenOf(unwanted, wanted.literals);
  const excluded = wanted.literals.filter((name) => !isInternalTopic(name) && left.has(name));
  const resolution = resolveTopics(
    wanted,
    unwanted,
    [...atSource.keys(), ...literalInternal].filter((name, at, all) => all.indexOf(name) === at),
  );
  const topics: TopicError[] = [];
  for (const name of resolution.internal) {
    topics.push(
      topicError(name, ErrorCode.INVALID_TOPIC_EXCEPTION, 'internal topics (__…) are never mirrored'),
    );
  }
  for (const name of excluded) {
    const message = `${name} is excluded: topics.exclude of mirror ${mirror.name} or of the request names it`;
    topics.push(topicError(name, ErrorCode.INVALID_REQUEST, message));
  }
  for (const name of resolution.missing) {
    if (excluded.includes(name)) continue;
    topics.push(
      topicError(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `cluster ${mirror.source} has no topic ${name}`),
    );
  }
  const lineage = await lineageOf(world, mirror, session, resolution.topics);
  const transactions = await world.destination.localTransactions();
  const candidates: Candidate[] = [];
  for (const name of resolution.topics) {
    const described = atSource.get(name);
    if (described === undefined) continue;
    const error = await judgeTopic(
      world,
      mirror,
      session,
      described,
      lineage.loops,
      transactions,
      candidates,
    );
    topics.push(error ?? topicError(name, ErrorCode.NONE, ''));
  }
  const notes = [...lineage.notes];
  if (transactions.unseen !== null && candidates.length > 0) notes.push(transactions.unseen);
  if (topics.length === 0) notes.push(`no topic of ${mirror.source} matches ${include.join(', ')} yet`);
  return {
    error: null,
    topics,
    existing: candidates.filter(({ destination }) => destination !== null).map(({ source }) => source.name),
    steps: candidates.map(({ step }) => step),
    notes,
    commits: candidates.map((candidate) => ({
      topic: candidate.source.name,
      put: (draft, at) => commitTopic(draft, mirror, candidate, at),
    })),
  };
}

/** Adds to `candidates` what is to begin; null also for a topic that is mirrored already. */
async function judgeTopic(
  world: VerbWorld,
  mirror: MirrorRecord,
  session: SourceSession,
  source: TopicDescription,
  loops: ReadonlyMap<string, string>,
  transactions: LocalTransactions,
  candidates: Candidate[],
): Promise<TopicError | null> {
  const { name } = source;
  const known = standingOf(world.view, mirror, name);
  if (known !== 'free') return known === 'mirrored' ? null : known;
  const away = outageOf(world, name, source.partitions);
  if (away !== null) return away;
  const loop = loops.get(name);
  if (loop !== undefined) {
    return topicError(name, ErrorCode.INVALID_REQUEST, `Detected mirror loop: ${name} would go ${loop}`);
  }
  // also where there is no topic yet: a coordinator's marker goes by the topic's name
  const open = localTransactionsText(name, world.destination, transactions);
  if (open !== null) return topicError(name, ErrorCode.INVALID_TXN_STATE, open);
  try {
    const [destination, configs] = await Promise.all([
      world.destination.describeTopic(name),
      session.admin.topicConfigs(name),
    ]);
    if (destination !== null) await checkTakeOver(world, source, destination);
    const settings = sourceSettings(configs);
    const overrides = ownedSettings.map((key) => [key, settings.overrides.get(key) ?? null] as const);
    candidates.push({
      source,
      destination,
      settings: Object.fromEntries(overrides),
      step: {
        do: destination === null ? 'create topic and mirror it' : 'take over the empty topic and mirror it',
        topic: name,
        partitions: source.partitions,
        replicationFactor: mirror.replicationFactor === 0 ? 'default' : mirror.replicationFactor,
        settings: Object.fromEntries(mirrorSettings(settings, false)),
      },
    });
    return null;
  } catch (error) {
    const { code, message } = asVerbError(error);
    return topicError(name, code, message);
  }
}

/** An existing topic is taken over only while nothing was ever written to it. */
async function checkTakeOver(
  world: VerbWorld,
  source: TopicDescription,
  destination: TopicDescription,
): Promise<void> {
  const { name } = source;
  const where = `topic ${name} exists at ${world.destinationName}`;
  const bounds = await world.destination.bounds(name, destination.partitions);
  const written = bounds.find(({ start, end }) => start !== 0 || end !== 0);
  if (written !== undefined) {
    throw new Refused(
      ErrorCode.TOPIC_ALREADY_EXISTS,
      `${where} with records of its own (partition ${written.partition} holds offsets ${written.start} to ` +
        `${written.end - 1}); only an empty topic is taken over`,
    );
  }
  if (destination.partitions !== source.partitions) {
    throw new Refused(
      ErrorCode.INVALID_PARTITIONS,
      `${where} with ${destination.partitions} partitions, the source has ${source.partitions}`,
    );
  }
  if (usesRemoteStorage(await world.destination.topicConfigs(name))) {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `${where} with remote.storage.enable=true; a mirror topic can't be tiered`,
    );
  }
}

function commitTopic(draft: Draft, mirror: MirrorRecord, candidate: Candidate, at: number): void {
  const { name, topicId, partitions } = candidate.source;
  const before = draft.topic(name);
  if (before?.mirror === mirror.name && before.desired === 'MIRRORING') return;
  if (before !== undefined && before.mirror !== null) {
    throw new Refused(
      ErrorCode.TOPIC_ALREADY_IN_CLUSTER_MIRROR,
      `${name} was given to mirror ${before.mirror} meanwhile`,
    );
  }
  draft.put({
    kind: 'topic',
    topic: name,
    mirror: mirror.name,
    sourceTopicId: topicId,
    destinationTopicId: '',
    partitions,
    desired: 'MIRRORING',
    generation: (before?.generation ?? 0) + 1,
    sourceSettings: candidate.settings,
    configsPending: false,
    error: '',
    createdByUs: before?.createdByUs ?? false,
    startedAt: at,
  });
  for (let partition = 0; partition < partitions; partition++) {
    draft.put(freshPartition(mirror, candidate.source, partition));
  }
}

function freshPartition(mirror: MirrorRecord, source: TopicDescription, partition: number): PartitionRecord {
  return {
    kind: 'partition',
    topic: source.name,
    partition,
    ...stateColumns(align(UNKNOWN)),
    lastMirrored: { offset: -1, sourceEpoch: -1 },
    persistedEnd: 0,
    epochs: [],
    openIds: [],
    unverified: [],
    settledBy: '',
    sourceClusterId: mirror.sourceClusterId,
    sourceTopicId: source.topicId,
    sourceEnd: -1,
    sourceEndAt: 0,
    stop: null,
    report: null,
    barriers: [],
  };
}
