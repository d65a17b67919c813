import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../harness/free-port.ts';
import { runKafkaTool } from '../../harness/java.ts';
import { type KafkaCluster, startCluster } from '../../harness/kafka-cluster.ts';
import { tempDir } from '../../harness/temp-dir.ts';

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';

/**
 * A 4.4.0 cluster with the StandardAuthorizer: clients of its plain port are `User:ANONYMOUS` and may do what ACLs
 * allow, and `acls` runs the tool as a super user over a SASL port of its own.
 */
export class AuthorizerCluster {
  readonly cluster: KafkaCluster;
  readonly #internalPort: number;
  readonly #dir: ReturnType<typeof tempDir>;

  constructor(cluster: KafkaCluster, internalPort: number, dir: ReturnType<typeof tempDir>) {
    this.cluster = cluster;
    this.#internalPort = internalPort;
    this.#dir = dir;
  }

  static async start(): Promise<AuthorizerCluster> {
    const internalPort = await freePort();
    const jaas = `${PLAIN} username="broker" password="broker-word" user_broker="broker-word";`;
    const cluster = await startCluster({
      version: '4.4.0',
      properties: ({ port, controllerPort }) => ({
        listeners: `PLAINTEXT://127.0.0.1:${port},INTERNAL://127.0.0.1:${internalPort},CONTROLLER://127.0.0.1:${controllerPort}`,
        'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},INTERNAL://127.0.0.1:${internalPort}`,
        'listener.security.protocol.map':
          'PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT',
        'inter.broker.listener.name': 'INTERNAL',
        'sasl.enabled.mechanisms': 'PLAIN',
        'sasl.mechanism.inter.broker.protocol': 'PLAIN',
        'sasl.mechanism.controller.protocol': 'PLAIN',
        'listener.name.internal.plain.sasl.jaas.config': jaas,
        'listener.name.controller.plain.sasl.jaas.config': jaas,
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:broker',
        'allow.everyone.if.no.acl.found': 'false',
      }),
    });
    const dir = tempDir('acls');
    writeFileSync(
      join(dir.path, 'admin.properties'),
      `security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=${PLAIN} username="broker" password="broker-word";\n`,
    );
    return new AuthorizerCluster(cluster, internalPort, dir);
  }

  /** `kafka-acls` with these arguments. */
  async acls(...args: readonly string[]): Promise<void> {
    await runKafkaTool('4.4.0', 'org.apache.kafka.tools.AclCommand', [
      '--bootstrap-server',
      `127.0.0.1:${this.#internalPort}`,
      '--command-config',
      join(this.#dir.path, 'admin.properties'),
      ...args,
    ]);
  }

  /** Runs the first `kafka-acls` command of a message as it stands, but for address and principal. */
  async follow(advice: string): Promise<void> {
    const command = /kafka-acls --bootstrap-server \S+ (.*?)(?:$|;| \(| or )/m.exec(advice)?.[1];
    if (command === undefined) throw new Error(`no command in: ${advice}`);
    const args = command.replace('User:NAME', 'User:ANONYMOUS').replaceAll("'", '').split(' ');
    await this.acls(...args.filter((word) => word !== ''));
  }

  async stop(): Promise<void> {
    await this.cluster.destroy();
    this.#dir.remove();
  }
}
