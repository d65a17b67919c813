import {
  Admin,
  Consumer,
  MessagesStreamModes,
  Producer,
  stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Gateway } from '../../src/gateway/index.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';
import { startStubGateway } from '../fake-broker/support/stub-gateway.ts';
import { runJava } from '../harness/java.ts';

// Clients that are not ours must not find out that there is a gateway, addresses apart.
for (const name of ['kafka44', 'kafka39'] as const) {
  const { version, bootstrap } = inject('clusters')[name];
  const copy = `through-copy-${version}`;

  describe(`in front of Kafka ${version}`, () => {
    let gateway: Gateway;
    let cluster: Cluster;
    let via: string;

    beforeAll(async () => {
      cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': bootstrap } });
      await cluster.connect();
      gateway = await startStubGateway(cluster, { view: new StubView().mirrored(copy) });
      via = `127.0.0.1:${gateway.addresses.bootstrap.port}`;
    });

    afterAll(async () => {
      await gateway.close();
      await cluster.close();
    });

    test('Java clients of 4.4 are answered as by the brokers: topics, records, settings, cluster, groups, transactions', async () => {
      const echo = (at: string, prefix: string) =>
        runJava('4.4.0', 'AdminEcho.java', ['--bootstrap', at, '--name', `${prefix}-${version}-echo`]);
      const [through, around] = await Promise.all([echo(via, 'via'), echo(bootstrap, 'direct')]);
      expect(around.length).toBeGreaterThan(40);
      expect(around).toContain('consume = 55');
      expect(through).toEqual(around);
    });

    test('@platformatic/kafka writes, reads and manages; a mirror topic is refused by its error', async () => {
      const base = { clientId: 'platformatic', bootstrapBrokers: [via], retries: 2 };
      const topic = `through-orders-${version}`;
      const admin = new Admin(base);
      await admin.createTopics({ topics: [topic, copy], partitions: 2, replicas: 1 });
      const producer = new Producer({ ...base, serializers: stringSerializers, idempotent: true });
      const values = Array.from({ length: 40 }, (_, index) => `value ${index}`);
      for (const value of values) await producer.send({ messages: [{ topic, key: value, value }] });
      const refused = producer.send({ messages: [{ topic: copy, key: 'a', value: 'b' }] });
      await expect(refused).rejects.toMatchObject({
        errors: [
          expect.objectContaining({ errors: [expect.objectContaining({ apiId: 'POLICY_VIOLATION' })] }),
        ],
      });
      await expect(admin.deleteTopics({ topics: [copy] })).rejects.toThrow(/policy|failed/i);
      const group = { groupId: `through-${version}`, deserializers: stringDeserializers };
      const consumer = new Consumer({ ...base, ...group });
      const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST });
      const read: string[] = [];
      for await (const { value } of stream) if (read.push(value) === values.length) break;
      expect(read.toSorted()).toEqual(values.toSorted());
      await consumer.close(true);
      await producer.close();
      await admin.close();
    });
  });
}
