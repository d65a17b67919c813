import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { describeClusterApi } from '../../protocol/schema/60-describe-cluster.ts';
import { formatHostPort } from '../config/address.ts';
import { covers, parseTopicEntry } from '../config/topic-entries.ts';
import type { ClusterConfig, Config, MirrorConfig } from '../config/types.ts';
import { Cluster } from '../net/cluster.ts';
import { type BrokerAge, brokerAge } from './broker-version.ts';
import type { Io } from './io.ts';
import { boundsOf } from './offsets.ts';
import { allows, grantCommand, type OperationName } from './rights.ts';
import { count } from './table.ts';

/**
 * `check --connect`: every cluster reached, its version and our rights judged by what the mirrors need of it, and a
 * plan for each mirror. Reads only.
 * @returns number of faults told
 */
export async function checkConnected(config: Config, io: Io): Promise<number> {
  const report = new Report(io);
  const reached = new Map<string, Reached>();
  try {
    await Promise.all(
      [...config.clusters.values()].map(async (cluster) => {
        const found = await reach(cluster, config, report);
        if (found !== null) reached.set(cluster.name, found);
      }),
    );
    for (const mirror of config.mirrors) {
      await checkMirror(mirror, reached, config, report).catch((error: unknown) =>
        report.fault(`mirror ${mirror.name}`, error instanceof Error ? error.message : String(error)),
      );
    }
    for (const gateway of config.gateways) {
      const nodes = reached.get(gateway.cluster)?.cluster.brokers() ?? [];
      const outside = nodes
        .filter(({ nodeId }) => !gateway.brokerPorts.has(nodeId))
        .map(({ nodeId }) => nodeId);
      if (outside.length === 0) continue;
      report.fault(
        `gateway ${gateway.name}`,
        `brokers ${outside.join(', ')} of ${gateway.cluster} have no port; widen nodeIds and brokerPorts, or their partitions are shown leaderless`,
      );
    }
    return report.faults;
  } finally {
    await Promise.all([...reached.values()].map(({ cluster }) => cluster.close()));
  }
}

class Report {
  readonly #io: Io;
  faults = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  note(subject: string, text: string): void {
    this.#io.out(`${subject}: ${text}\n`);
  }

  fault(subject: string, text: string): void {
    this.faults += 1;
    this.#io.err(`${subject}: ${text}\n`);
  }
}

interface Reached {
  readonly cluster: Cluster;
  readonly clusterId: string;
  readonly age: BrokerAge;
  readonly bootstrap: string;
}

async function reach(config: ClusterConfig, whole: Config, report: Report): Promise<Reached | null> {
  const subject = `cluster ${config.name}`;
  const isSource = whole.mirrors.some(({ source }) => source === config.name);
  const isDestination =
    whole.mirrors.some(({ destination }) => destination === config.name) ||
    whole.gateways.some(({ cluster }) => cluster === config.name);
  const cluster = new Cluster({
    name: config.name,
    properties: config.properties,
    clientId: 'isthmus-check',
  });
  try {
    const clusterId = await cluster.connect();
    const connection = await cluster.anyConnection('check');
    const age = brokerAge(connection);
    report.note(
      subject,
      `${age.text}, cluster id ${clusterId}, ${count(cluster.brokers().length, 'broker')}`,
    );
    if (isSource && !age.enoughForSource)
      report.fault(subject, `${age.text} is too old for a source; 2.8 or newer is needed`);
    if (isDestination && !age.enoughForDestination) {
      report.fault(subject, `${age.text} is no destination; Kafka 3.6 or newer with KRaft is needed`);
    }
    const bootstrap = config.bootstrap.map(formatHostPort).join(',');
    if (whole.mirrors.some(({ destination }) => destination === config.name)) {
      await destinationRights(cluster, age, bootstrap, subject, report);
    }
    return { cluster, clusterId, age, bootstrap };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    report.fault(subject, text.startsWith(`${subject} `) ? text.slice(subject.length + 1) : text);
    await cluster.close();
    return null;
  }
}

async function destinationRights(
  cluster: Cluster,
  age: BrokerAge,
  bootstrap: string,
  subject: string,
  report: Report,
): Promise<void> {
  const connection = await cluster.anyConnection('check');
  const answer = await connection.call(
    describeClusterApi,
    { includeClusterAuthorizedOperations: true },
    { timeoutMs: 10_000 },
  );
  if (answer.errorCode !== ErrorCode.NONE) {
    report.fault(subject, `rights can't be read: ${errorName(answer.errorCode)}`);
    return;
  }
  const bits = answer.clusterAuthorizedOperations;
  const markers = allows(bits, 'CLUSTER_ACTION') || (age.alterAllowsMarkers && allows(bits, 'ALTER'));
  if (!markers) {
    const right: OperationName = age.alterAllowsMarkers ? 'ALTER' : 'CLUSTER_ACTION';
    report.fault(
      subject,
      `no right to write transaction markers; grant it: ${grantCommand(bootstrap, '--cluster', [right])}`,
    );
  }
  if (!allows(bits, 'CREATE')) {
    const command = grantCommand(bootstrap, '--cluster', ['CREATE']);
    report.note(
      subject,
      `no right to create topics on the cluster; unless it stands on each topic, grant it: ${command}`,
    );
  }
}

async function checkMirror(
  mirror: MirrorConfig,
  reached: ReadonlyMap<string, Reached>,
  config: Config,
  report: Report,
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
  const topics = chosenTopics(mirror, source.cluster, subject, report);
  await topicRights(source, topics, ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS'], subject, mirror.source, report);
  const there = topics.filter((topic) => destination.cluster.topic(topic)?.errorCode === ErrorCode.NONE);
  const needs: readonly OperationName[] = ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS'];
  await topicRights(destination, there, needs, subject, mirror.destination, report);
  const hasState = destination.cluster.topic(config.state.topic)?.errorCode === ErrorCode.NONE;
  for (const topic of topics) await planTopic(mirror, topic, source, destination, hasState, report);
  if (topics.length === 0)
    report.note(subject, `no topic of ${mirror.source} is meant by its include list yet`);
}

function chosenTopics(mirror: MirrorConfig, source: Cluster, subject: string, report: Report): string[] {
  const include = mirror.topics.include.map(parseTopicEntry);
  const exclude = mirror.topics.exclude.map(parseTopicEntry);
  for (const entry of include) {
    if (entry.kind === 'literal' && source.topic(entry.name) === undefined) {
      report.fault(subject, `topic ${entry.name} does not exist on ${mirror.source}`);
    }
  }
  return source
    .topics()
    .filter(({ name, errorCode }) => errorCode === ErrorCode.NONE && !name.startsWith('__'))
    .map(({ name }) => name)
    .filter(
      (name) => include.some((entry) => covers(entry, name)) && !exclude.some((entry) => covers(entry, name)),
    )
    .sort();
}

async function topicRights(
  at: Reached,
  topics: readonly string[],
  needs: readonly OperationName[],
  subject: string,
  name: string,
  report: Report,
): Promise<void> {
  if (topics.length === 0) return;
  const connection = await at.cluster.anyConnection('check');
  const answer = await connection.call(
    metadataApi,
    {
      topics: topics.map((topic) => ({ name: topic })),
      allowAutoTopicCreation: false,
      includeTopicAuthorizedOperations: true,
    },
    { timeoutMs: 10_000 },
  );
  for (const topic of answer.topics) {
    const missing = needs.filter((operation) => !allows(topic.topicAuthorizedOperations, operation));
    if (missing.length === 0) continue;
    const command = grantCommand(at.bootstrap, `--topic '${topic.name ?? ''}'`, missing);
    report.fault(
      subject,
      `${missing.join(', ')} on topic ${topic.name ?? ''} of ${name} is missing; grant it: ${command}`,
    );
  }
}

async function planTopic(
  mirror: MirrorConfig,
  topic: string,
  source: Reached,
  destination: Reached,
  hasState: boolean,
  report: Report,
): Promise<void> {
  const subject = `mirror ${mirror.name}`;
  const partitions = source.cluster.topic(topic)?.partitions.map(({ partition }) => partition) ?? [];
  const bounds = await boundsOf(source.cluster, topic, partitions);
  const offsets = [...bounds.values()].reduce((sum, { start, end }) => sum + end - start, 0);
  const later = [...bounds].filter(([, { start }]) => start > 0).map(([partition]) => partition);
  if (later.length > 0) {
    report.fault(
      subject,
      `${topic}: partitions ${later.join(', ')} begin above offset 0; a non-zero log start comes later`,
    );
  }
  const there = destination.cluster.topic(topic);
  const plan = `${topic}: ${count(partitions.length, 'partition')}, ${count(offsets, 'offset')}`;
  if (there === undefined || there.errorCode !== ErrorCode.NONE) {
    report.note(subject, `${plan}; will be created on ${mirror.destination}`);
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
  } else if (end > 0 && hasState) {
    report.note(
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
