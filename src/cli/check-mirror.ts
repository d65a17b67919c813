import { ErrorCode } from '../../protocol/errors.ts';
import { coveredBy, parseTopicEntry } from '../config/topic-entries.ts';
import type { Config, MirrorConfig } from '../config/types.ts';
import type { Cluster } from '../net/cluster.ts';
import { readTopicWriters } from '../net/topic-writers.ts';
import type { Reached } from './check-cluster.ts';
import type { CheckReport } from './check-report.ts';
import {
  creationFaults,
  destinationNeeds,
  type Missing,
  reportMissing,
  sourceNeeds,
  topicFaults,
} from './check-rights.ts';
import { boundsOf } from './offsets.ts';
import { count } from './table.ts';
import { textOf } from '../net/error-text.ts';

/** A topic that a cluster's own state topic says is mirrored into it. */
export interface MirroredTopic {
  readonly topic: string;
  readonly mirror: string;
  readonly active: boolean;
}

/** What only control can read of state topics; bin.ts hands it in. */
export interface StateReaders {
  /** Topics that would be mirrored in a circle, with the whole way, and what could not be found out. */
  findLoops(asked: {
    readonly topics: readonly string[];
    readonly source: ChainEnd;
    readonly destination: ChainEnd;
    readonly others: readonly ChainEnd[];
    /** Names of configured clusters that did not answer. */
    readonly silent: readonly string[];
    readonly stateTopic: string;
  }): Promise<{ readonly loops: ReadonlyMap<string, string>; readonly notes: readonly string[] }>;
  mirroredTopics(cluster: Cluster, stateTopic: string): Promise<readonly MirroredTopic[]>;
}

export interface ChainEnd {
  readonly cluster: Cluster;
  readonly clusterId: string;
}

/** Which mirror of the file means a topic of a destination, by `destination/topic`: patterns may overlap. */
export type Claims = Map<string, string>;

/** One mirror of the file: loops, rights, who else may write, and what would be done with each topic. */
export async function checkMirror(
  mirror: MirrorConfig,
  reached: ReadonlyMap<string, Reached>,
  config: Config,
  readers: StateReaders,
  claims: Claims,
  report: CheckReport,
): Promise<void> {
  const subject = `mirror ${mirror.name}`;
  const source = reached.get(mirror.source);
  const destination = reached.get(mirror.destination);
  if (source === undefined || destination === undefined) {
    report.note(subject, 'no plan: not both clusters were reached');
    return;
  }
  if (source.clusterId === destination.clusterId) {
    report.fault(
      subject,
      `${mirror.source} and ${mirror.destination} are the same cluster (cluster id ${source.clusterId})`,
    );
    return;
  }
  await Promise.all([source.cluster.refresh(null), destination.cluster.refresh(null)]);
  const topics = chosenTopics(mirror, source.cluster).filter((topic) => {
    const key = `${mirror.destination}/${topic}`;
    const other = claims.get(key);
    if (other === undefined) claims.set(key, mirror.name);
    else report.fault(subject, `${topic} is meant by mirror ${other} too; a topic has one mirror`);
    return other === undefined;
  });
  const hidden = await missingLiterals(mirror, source, subject, report);
  const unreadable = await topicFaults(source, [...topics, ...hidden], sourceNeeds, { mayCreate: false });
  reportMissing(unreadable, subject, source.bootstrap, report);
  const unwritable = await topicFaults(destination, topics, destinationNeeds, { mayCreate: true });
  reportMissing(unwritable, subject, destination.bootstrap, report);
  if (topics.length === 0) {
    report.note(subject, `no topic of ${mirror.source} is meant by its include list yet`);
    return;
  }
  if (unreadable.length + unwritable.length === 0) {
    const names = `${mirror.source} and ${mirror.destination}`;
    report.note(subject, `rights ok on ${count(topics.length, 'topic')} of ${names}`);
  }
  await tellWriters(destination, topics, subject, report);
  const looped = await tellLoops(mirror, topics, reached, config, readers, report);
  const states = await mirroredInto(destination, config, readers, subject, report);
  for (const topic of topics) {
    if (!looped.has(topic)) await planTopic(mirror, topic, source, destination, states, report);
  }
}

function chosenTopics(mirror: MirrorConfig, source: Cluster): string[] {
  const include = mirror.topics.include.map(parseTopicEntry);
  const exclude = mirror.topics.exclude.map(parseTopicEntry);
  const names = source
    .topics()
    .filter(({ name, errorCode }) => errorCode === ErrorCode.NONE && !name.startsWith('__'))
    .map(({ name }) => name);
  const wanted = coveredBy(include, names);
  const unwanted = coveredBy(exclude, names);
  return names.filter((name) => wanted.has(name) && !unwanted.has(name)).sort();
}

/** Names of the file that the source does not list. @returns those that may only be hidden from us */
async function missingLiterals(
  mirror: MirrorConfig,
  source: Reached,
  subject: string,
  report: CheckReport,
): Promise<string[]> {
  const literals = mirror.topics.include
    .map(parseTopicEntry)
    .flatMap((entry) => (entry.kind === 'literal' ? [entry.name] : []));
  const unlisted = literals.filter((name) => source.cluster.topic(name)?.errorCode !== ErrorCode.NONE);
  if (unlisted.length === 0) return [];
  await source.cluster.refresh(unlisted);
  return unlisted.filter((name) => {
    if (source.cluster.topic(name)?.errorCode === ErrorCode.TOPIC_AUTHORIZATION_FAILED) return true;
    report.fault(subject, `topic ${name} does not exist on ${mirror.source}`);
    return false;
  });
}

/** Writers that bypass the gateway are not stopped, only found: whoever may is named. */
async function tellWriters(
  at: Reached,
  topics: readonly string[],
  subject: string,
  report: CheckReport,
): Promise<void> {
  const connection = await at.cluster.anyConnection('check');
  const writers = await readTopicWriters(connection, { bootstrap: at.bootstrap, timeoutMs: 10_000 });
  const past = `past the gateway, straight to ${at.name}`;
  if (writers.kind === 'anyone') {
    report.warning(subject, `anyone may write to its topics ${past}: it has no authorizer`);
    return;
  }
  if (writers.kind === 'unknown') {
    report.warning(subject, `who may write to its topics ${past}, is not known: ${writers.why}`);
    return;
  }
  const groups = Map.groupBy(topics, (topic) => writers.writersOf(topic).join(', '));
  for (const [who, some] of groups) {
    const named = who === '' ? 'no principal by an ACL' : who;
    report.note(subject, `may write to ${some.join(', ')} ${past}: ${named}`);
  }
}

async function tellLoops(
  mirror: MirrorConfig,
  topics: readonly string[],
  reached: ReadonlyMap<string, Reached>,
  config: Config,
  readers: StateReaders,
  report: CheckReport,
): Promise<ReadonlyMap<string, string>> {
  const source = reached.get(mirror.source) as Reached;
  const destination = reached.get(mirror.destination) as Reached;
  const found = await readers.findLoops({
    topics,
    source,
    destination,
    others: [...reached.values()].filter((one) => one !== source && one !== destination),
    silent: [...config.clusters.keys()].filter((name) => !reached.has(name)),
    stateTopic: config.state.topic,
  });
  const subject = `mirror ${mirror.name}`;
  for (const [topic, way] of found.loops) {
    report.fault(subject, `Detected mirror loop: ${topic} would go ${way}`);
  }
  for (const note of found.notes) report.warning(subject, note);
  return found.loops;
}

type States = ReadonlyMap<string, MirroredTopic> | 'unknown';

/** What the destination's own state says; with a state that can't be read the plans say what they don't know. */
async function mirroredInto(
  destination: Reached,
  config: Config,
  readers: StateReaders,
  subject: string,
  report: CheckReport,
): Promise<States> {
  try {
    const topics = await readers.mirroredTopics(destination.cluster, config.state.topic);
    return new Map(topics.map((one) => [one.topic, one]));
  } catch (error) {
    report.warning(subject, textOf(error));
    return 'unknown';
  }
}

async function planTopic(
  mirror: MirrorConfig,
  topic: string,
  source: Reached,
  destination: Reached,
  states: States,
  report: CheckReport,
): Promise<void> {
  const subject = `mirror ${mirror.name}`;
  const partitions = source.cluster.topic(topic)?.partitions.map(({ partition }) => partition) ?? [];
  const bounds = await boundsOf(source.cluster, topic, partitions);
  const offsets = [...bounds.values()].reduce((sum, { start, end }) => sum + end - start, 0);
  const plan = `${topic}: ${count(partitions.length, 'partition')}, ${count(offsets, 'offset')}`;
  const known = states === 'unknown' ? undefined : states.get(topic);
  if (known !== undefined) {
    const what = known.active ? 'mirrored' : 'STOPPED';
    if (known.mirror !== mirror.name) {
      report.fault(
        subject,
        `${topic} is ${what} on ${mirror.destination} in mirror ${known.mirror}; a topic has one mirror`,
      );
    } else if (known.active) report.note(subject, `${plan}; mirrored already`);
    else
      report.note(
        subject,
        `${plan}; STOPPED already: it is ${mirror.destination}'s own now and is not started again`,
      );
    return;
  }
  const later = [...bounds].filter(([, { start }]) => start > 0).map(([partition]) => partition);
  if (later.length > 0) {
    report.fault(
      subject,
      `${topic}: ${later.length === 1 ? 'partition' : 'partitions'} ${later.join(', ')} of the source ${later.length === 1 ? 'begins' : 'begin'} above offset 0; a non-zero log start comes later`,
    );
  }
  const there = destination.cluster.topic(topic);
  if (there === undefined || there.errorCode !== ErrorCode.NONE) {
    const wanted = [{ name: topic, partitions: partitions.length }];
    const refused: Missing[] = await creationFaults(destination, wanted, mirror.replicationFactor);
    if (refused.length === 0) report.note(subject, `${plan}; will be created on ${mirror.destination}`);
    reportMissing(refused, subject, destination.bootstrap, report);
    return;
  }
  const own = await boundsOf(
    destination.cluster,
    topic,
    there.partitions.map(({ partition }) => partition),
  );
  const end = Math.max(0, ...[...own.values()].map((one) => one.end));
  if (end === 0 && there.partitions.length === partitions.length) {
    report.note(subject, `${plan}; the empty topic on ${mirror.destination} is taken over`);
  } else if (end > 0 && states === 'unknown') {
    report.warning(
      subject,
      `${plan}; exists on ${mirror.destination} up to offset ${end}: if it is this mirror's, mirror describe tells its state, else it is refused`,
    );
  } else if (end > 0) {
    report.fault(
      subject,
      `${topic} exists on ${mirror.destination} with records of its own (up to offset ${end}); delete it there, or leave it out`,
    );
  } else {
    report.fault(
      subject,
      `${topic} has ${count(partitions.length, 'partition')} on ${mirror.source} and ${there.partitions.length} on ${mirror.destination}; delete it there`,
    );
  }
}
