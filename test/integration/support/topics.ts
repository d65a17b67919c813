import { KafkaClusterAdmin } from '../../../src/control/cluster-admin.ts';
import { Cluster } from '../../../src/net/cluster.ts';

/** Admin work at one cluster without a JVM for each call. */
export class Topics {
  readonly #cluster: Cluster;
  readonly #admin: KafkaClusterAdmin;

  constructor(bootstrap: string) {
    this.#cluster = new Cluster({ name: 'test', properties: { 'bootstrap.servers': bootstrap } });
    this.#admin = new KafkaClusterAdmin(this.#cluster);
  }

  async create(
    name: string,
    partitions: number,
    configs: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const created = await this.#admin.createTopic({
      name,
      partitions,
      replicationFactor: 1,
      configs: new Map(Object.entries(configs)),
    });
    if (!created) throw new Error(`topic ${name} exists already`);
  }

  /** What is set on the topic itself. */
  async configs(name: string): Promise<Record<string, string>> {
    const entries = await this.#admin.topicConfigs(name);
    return Object.fromEntries(
      entries
        .filter(({ isTopicOverride }) => isTopicOverride)
        .map((entry) => [entry.name, entry.value ?? '']),
    );
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }
}
