import type { LinkFailure } from '../link/ports.ts';
import { localTransactionsText } from './local-transactions.ts';
import { AdminError, type ClusterAdmin, type Surroundings, type TopicDescription } from './ports.ts';
import { type MirrorRecord, type TopicRecord, type StateView, partitionKey } from './state/types.ts';
import {
  mirrorSettings,
  ownedSettings,
  settingsDrift,
  sourceSettings,
  type SourceSettings,
  usesRemoteStorage,
} from './topic-settings.ts';

/** A topic that can't be mirrored: its partitions become FAILED. */
export class PrepareFailed extends Error {
  override readonly name = 'PrepareFailed';
  readonly code: LinkFailure['code'];
  readonly retriable: boolean;

  constructor(code: LinkFailure['code'], message: string, retriable: boolean) {
    super(message);
    this.code = code;
    this.retriable = retriable;
  }
}

export interface Prepared {
  readonly destinationTopicId: string;
  readonly createdByUs: boolean;
  readonly sourceSettings: Readonly<Record<string, string | null>>;
  /** Something to show that does not stop the mirror. */
  readonly notice: string | null;
  /** Why local transactions may be open on it that can't be seen, or null. */
  readonly unseen: string | null;
}

export interface PrepareContext {
  readonly mirror: MirrorRecord;
  readonly source: ClusterAdmin;
  readonly destination: ClusterAdmin;
  readonly view: StateView;
  readonly sleep: Surroundings['sleep'];
}

/**
 * Makes sure, at every start, that the destination topic is the one on record with the settings of DESIGN 5.2, or
 * creates it. Nothing is ever deleted, and an existing topic is taken only while it is empty.
 * @throws PrepareFailed for what ends in FAILED; AdminError when a cluster did not answer (passing)
 */
export async function prepareTopic(context: PrepareContext, topic: TopicRecord): Promise<Prepared> {
  const { source, destination } = context;
  const atSource = await describeSource(context, topic);
  const settings = sourceSettings(await source.topicConfigs(topic.topic));
  const isNew = topic.destinationTopicId === '';
  const unseen = await refuseLocalTransactions(destination, topic.topic);
  const wanted = mirrorSettings(settings, isAligned(context.view, topic));
  const { found, created } = isNew
    ? await createOrTakeOver(context, topic, wanted)
    : { found: await describeKnown(context, topic), created: false };
  // A cleaner that ran already stays on while single partitions come back.
  const keepCleaner = !isNew && settings.compacts;
  if (!created) await reapplySettings(destination, topic.topic, wanted, keepCleaner);
  return {
    destinationTopicId: found.topicId,
    createdByUs: topic.createdByUs || created,
    sourceSettings: recordOf(settings),
    notice: partitionNotice(context.mirror, atSource, topic),
    unseen,
  };
}

/**
 * A local transaction that names the topic: also of one that is created now, for coordinators go by name. Before
 * anything is changed, and once more when every gateway refuses them.
 * @returns why there may be more that can't be seen, or null
 * @throws PrepareFailed local-transaction, naming them
 */
export async function refuseLocalTransactions(
  destination: ClusterAdmin,
  topic: string,
): Promise<string | null> {
  const transactions = await destination.localTransactions();
  const message = localTransactionsText(topic, destination, transactions);
  if (message !== null) throw new PrepareFailed('local-transaction', message, true);
  return transactions.unseen;
}

/**
 * Looks at the source topic again while it is mirrored.
 * @returns something to show that does not stop the mirror, or null
 * @throws PrepareFailed when the topic is gone or was created anew; AdminError
 */
export async function checkSource(
  context: Pick<PrepareContext, 'mirror' | 'source' | 'sleep'>,
  topic: TopicRecord,
): Promise<string | null> {
  return partitionNotice(context.mirror, await describeSource(context, topic), topic);
}

/** From MIRRORING on the cleaner may run where the source's does. */
export function isAligned(view: StateView, topic: TopicRecord): boolean {
  for (let partition = 0; partition < topic.partitions; partition++) {
    if (view.partitions.get(partitionKey(topic.topic, partition))?.state !== 'MIRRORING') return false;
  }
  return true;
}

async function describeSource(
  context: Pick<PrepareContext, 'mirror' | 'source' | 'sleep'>,
  topic: TopicRecord,
): Promise<TopicDescription> {
  const { source, mirror } = context;
  const found = await describeTwice(source, topic.topic, context.sleep, topic.sourceTopicId);
  if (found === null) {
    throw new PrepareFailed(
      'source-topic-gone',
      `topic ${topic.topic} was deleted at the source ${mirror.source}; the copy is kept, stop it to write to it`,
      false,
    );
  }
  if (found.topicId !== topic.sourceTopicId) {
    throw new PrepareFailed(
      'topic-recreated',
      `topic ${topic.topic} was deleted and created anew at the source ${mirror.source} (topic id ` +
        `${topic.sourceTopicId}, now ${found.topicId}); the copy is kept, stop it to write to it`,
      false,
    );
  }
  return found;
}

/** A broker that has just started may not know a topic yet: gone is what is gone twice. */
export async function describeTwice(
  cluster: Pick<ClusterAdmin, 'describeTopic'>,
  name: string,
  sleep: Surroundings['sleep'],
  expectedId?: string,
): Promise<TopicDescription | null> {
  const found = await cluster.describeTopic(name, expectedId);
  if (found !== null) return found;
  await sleep(goneAgainAfterMs);
  return cluster.describeTopic(name, expectedId);
}

async function describeKnown(
  { destination, sleep }: Pick<PrepareContext, 'destination' | 'sleep'>,
  topic: TopicRecord,
): Promise<TopicDescription> {
  const found = await describeTwice(destination, topic.topic, sleep, topic.destinationTopicId);
  if (found !== null && found.topicId === topic.destinationTopicId) return found;
  const what = found === null ? 'is gone' : `was created anew (topic id ${found.topicId})`;
  throw new PrepareFailed(
    'topic-recreated',
    `the destination topic ${topic.topic} with id ${topic.destinationTopicId} ${what}`,
    false,
  );
}

async function createOrTakeOver(
  context: PrepareContext,
  topic: TopicRecord,
  wanted: ReadonlyMap<string, string>,
): Promise<{ found: TopicDescription; created: boolean }> {
  const { destination, mirror } = context;
  const there = await destination.describeTopic(topic.topic);
  const created =
    there === null &&
    (await creating(topic.topic, () =>
      destination.createTopic({
        name: topic.topic,
        partitions: topic.partitions,
        replicationFactor: mirror.replicationFactor,
        configs: wanted,
      }),
    ));
  const found = there ?? (await appeared(context, topic.topic));
  if (found.partitions !== topic.partitions) {
    throw new PrepareFailed(
      'refused-by-broker',
      `topic ${topic.topic} exists at ${destination.name} with ${found.partitions} partitions, the source has ` +
        `${topic.partitions}`,
      false,
    );
  }
  const written = (await destination.bounds(topic.topic, found.partitions)).find(({ end }) => end !== 0);
  if (written !== undefined) {
    throw new PrepareFailed(
      'foreign-write',
      `topic ${topic.topic} exists at ${destination.name} with records of its own: partition ` +
        `${written.partition} ends at ${written.end}; only an empty topic is taken over`,
      false,
    );
  }
  return { found, created };
}

/** A right or a policy that is missing may be granted while we wait: FAILED, and tried again. */
async function creating<T>(topic: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AdminError && error.code !== -1 && !error.retriable) {
      throw new PrepareFailed('refused-by-broker', `topic ${topic} was not created: ${error.message}`, true);
    }
    throw error;
  }
}

/** A topic just created shows up a moment later, and its leaders another. */
async function appeared(context: PrepareContext, name: string): Promise<TopicDescription> {
  for (let round = 0; round < appearRounds; round++) {
    try {
      const found = await context.destination.describeTopic(name);
      if (found !== null) {
        await context.destination.bounds(name, found.partitions);
        return found;
      }
    } catch (error) {
      if (!(error instanceof AdminError) || !error.retriable) throw error;
    }
    await context.sleep(appearPauseMs);
  }
  throw new AdminError(
    `topic ${name} was created at ${context.destination.name} but has no leaders yet`,
    -1,
    true,
  );
}

async function reapplySettings(
  destination: ClusterAdmin,
  topic: string,
  wanted: ReadonlyMap<string, string>,
  keepCleaner: boolean,
): Promise<void> {
  const actual = await destination.topicConfigs(topic);
  if (usesRemoteStorage(actual)) {
    throw new PrepareFailed(
      'refused-by-broker',
      `topic ${topic} has remote.storage.enable=true; a mirror topic can't be tiered`,
      false,
    );
  }
  const cleans = actual.some(({ name, value }) => name === 'cleanup.policy' && value?.includes('compact'));
  const drift = settingsDrift(wanted, actual).filter(
    ({ name }) => !(keepCleaner && cleans && name === 'cleanup.policy'),
  );
  if (drift.length > 0) await creating(topic, () => destination.alterTopicConfigs(topic, drift));
}

function recordOf(settings: SourceSettings): Record<string, string | null> {
  return Object.fromEntries(ownedSettings.map((name) => [name, settings.overrides.get(name) ?? null]));
}

function partitionNotice(mirror: MirrorRecord, source: TopicDescription, topic: TopicRecord): string | null {
  if (source.partitions <= topic.partitions) return null;
  return (
    `topic ${topic.topic} has ${source.partitions} partitions at ${mirror.source} and ${topic.partitions} here: ` +
    'partitions added at the source are not mirrored yet (that comes later)'
  );
}

const goneAgainAfterMs = 1000;
const appearRounds = 50;
const appearPauseMs = 200;
