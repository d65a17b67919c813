import { formatHostPort } from '../config/address.ts';
import type { ClusterConfig, Config } from '../config/types.ts';
import { Cluster } from '../net/cluster.ts';
import { type BrokerAge, brokerAge } from './broker-version.ts';
import type { CheckReport } from './check-report.ts';
import { clusterFaults, reportMissing, stateTopicFaults } from './check-rights.ts';
import { count } from './table.ts';
import { textOf } from '../net/error-text.ts';

/** A cluster of the file that answered. */
export interface Reached {
  readonly cluster: Cluster;
  readonly name: string;
  readonly clusterId: string;
  readonly age: BrokerAge;
  /** As configured, for commands that can be pasted. */
  readonly bootstrap: string;
}

/** Reaches one cluster and judges version and rights by what the file needs of it. @returns null after a fault */
export async function reach(
  config: ClusterConfig,
  whole: Config,
  report: CheckReport,
): Promise<Reached | null> {
  const subject = `cluster ${config.name}`;
  const { name } = config;
  const mirrorsInto = whole.mirrors.filter(({ destination }) => destination === name);
  const isSource = whole.mirrors.some(({ source }) => source === name);
  const isDestination = mirrorsInto.length > 0 || whole.gateways.some(({ cluster }) => cluster === name);
  const cluster = new Cluster({ name, properties: config.properties, clientId: 'isthmus-check' });
  try {
    const clusterId = await cluster.connect();
    const age = brokerAge(await cluster.anyConnection('check'));
    report.note(
      subject,
      `${age.text}, cluster id ${clusterId}, ${count(cluster.brokers().length, 'broker')}`,
    );
    if (isSource && !age.enoughForSource)
      report.fault(subject, `${age.text} is too old for a source; 2.8 or newer is needed`);
    if (isDestination && !age.enoughForDestination) {
      report.fault(subject, `${age.text} is no destination; Kafka 3.6 or newer with KRaft is needed`);
    }
    const reached = {
      cluster,
      name,
      clusterId,
      age,
      bootstrap: config.bootstrap.map(formatHostPort).join(','),
    };
    if (mirrorsInto.length > 0) {
      const mirrors = mirrorsInto.map((mirror) => mirror.name);
      const missing = await clusterFaults(reached, whole.state.topic, mirrors);
      if (missing.length === 0) {
        report.note(
          subject,
          `rights ok: markers, state topic ${whole.state.topic}, transactional ids isthmus-*`,
        );
      }
      reportMissing(missing, subject, reached.bootstrap, report);
      reportMissing(await stateTopicFaults(reached, whole.state), subject, reached.bootstrap, report);
    }
    return reached;
  } catch (error) {
    const text = textOf(error);
    report.fault(subject, text.startsWith(`${subject} `) ? text.slice(subject.length + 1) : text);
    await cluster.close();
    return null;
  }
}
