import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Gateway } from '../../src/gateway/index.ts';
import { Cluster } from '../../src/net/cluster.ts';
import { gatewayRefused } from '../../src/observe/channels.ts';
import { StubView } from '../fake-broker/support/stub-control.ts';
import { startStubGateway } from '../fake-broker/support/stub-gateway.ts';
import { runJava } from '../harness/java.ts';

interface PartitionRead {
  partition: number;
  end: number;
  position: number;
  records: number;
  sha256: string;
}

const parse = <T>(lines: readonly string[]): T[] =>
  lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as T);

for (const name of ['kafka44', 'kafka39'] as const) {
  const { version, bootstrap } = inject('clusters')[name];
  const direct = ['--bootstrap', bootstrap];
  const orders = `gateway-orders-${version}`;
  const copy = `gateway-copy-${version}`;

  describe(`a gateway in front of Kafka ${version}`, () => {
    let gateway: Gateway;
    let cluster: Cluster;
    let via: string[];
    const view = new StubView().mirrored(copy);

    beforeAll(async () => {
      await Promise.all([
        runJava(version, 'AdminTool.java', ['create', ...direct, '--topic', orders, '--partitions', '2']),
        runJava(version, 'AdminTool.java', ['create', ...direct, '--topic', copy]),
      ]);
      cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': bootstrap } });
      await cluster.connect();
      gateway = await startStubGateway(cluster, { view });
      via = ['--bootstrap', `127.0.0.1:${gateway.addresses.bootstrap.port}`];
    });

    afterAll(async () => {
      await gateway.close();
      await cluster.close();
    });

    const endOf = async (topic: string): Promise<number> => {
      const [offsets] = parse<{ end: number }>(
        await runJava(version, 'AdminTool.java', ['offsets', ...direct, '--topic', topic]),
      );
      return offsets?.end ?? -1;
    };

    const read = async (at: readonly string[], isolation: string): Promise<PartitionRead[]> =>
      parse<PartitionRead>(
        await runJava(version, 'ReadAll.java', [...at, '--topic', orders, '--isolation', isolation]),
      );

    test('Java producers of both releases write through it, and what is read through it is what is there', async () => {
      const produce = ['--topic', orders, '--partitions', '2', '--codec', 'all', ...via];
      const transactional = ['--mode', 'transactional', '--count', '1000', '--abort-every', '4'];
      await runJava(version, 'Produce.java', [...produce, ...transactional]);
      await runJava('3.9.1', 'Produce.java', [...produce, '--mode', 'idempotent', '--count', '500']);
      await runJava('4.4.0', 'Produce.java', [...produce, '--mode', 'plain', '--count', '500']);

      const [through, around] = [await read(via, 'read_committed'), await read(direct, 'read_committed')];
      expect(through).toEqual(around);
      expect(through.reduce((sum, { records }) => sum + records, 0)).toBeGreaterThan(1_000);
      expect(await read(via, 'read_uncommitted')).toEqual(await read(direct, 'read_uncommitted'));
      const { closes } = gateway.snapshot();
      expect(Object.keys(closes).filter((cause) => cause !== 'peer-closed')).toEqual([]);
    });

    test.each(['plain', 'idempotent'])(
      'a %s Produce to a mirror topic is refused with a readable error and leaves the log end',
      async (mode) => {
        const refused = runJava(version, 'Produce.java', [
          ...via,
          '--topic',
          copy,
          '--mode',
          mode,
          '--count',
          '10',
        ]);
        await expect(refused).rejects.toThrow(/mirror east-to-west of cluster east/);
        expect(await endOf(copy)).toBe(0);
      },
    );

    test.each(['3.9.1', '4.4.0'] as const)(
      'a refused transactional Java %s producer leaves no marker in the mirror',
      async (client) => {
        const id = ['--mode', 'transactional', '--transactional-id', `refused-${client}`, '--count', '10'];
        const apis: string[] = [];
        const stop = gatewayRefused.subscribe(({ api }) => apis.push(api));
        const refused = runJava(client, 'Produce.java', [...via, '--topic', copy, ...id]);
        await expect(refused).rejects.toThrow(/ended with [1-9]/);
        stop();
        if (client === '3.9.1') expect(apis).toContain('AddPartitionsToTxn');
        // a new producer with the same id waits until the coordinator has ended whatever it took part in
        await runJava(client, 'Produce.java', [...direct, '--topic', orders, ...id]);
        expect(await endOf(copy)).toBe(0);
      },
    );
  });
}
