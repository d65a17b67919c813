import { afterEach, describe, expect, test, vi } from 'vitest';
import { encodeResponse } from '../../../../protocol/frame/messages.ts';
import { type MetadataResponseInput, metadataApi } from '../../../../protocol/schema/03-metadata.ts';
import { findCoordinatorApi } from '../../../../protocol/schema/10-find-coordinator.ts';
import { Cluster, ClusterIdMismatchError } from '../../../../src/net/cluster.ts';
import { ClusterUnreachableError } from '../../../../src/net/race.ts';
import { type BrokerStub, brokerStub, plainAnswer, type StubScript } from './broker-stub.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const VERSIONS = [
  { apiKey: 3, minVersion: 0, maxVersion: 12 },
  { apiKey: 10, minVersion: 0, maxVersion: 4 },
  { apiKey: 18, minVersion: 0, maxVersion: 3 },
];

async function stubbed(script: StubScript): Promise<BrokerStub> {
  const stub = await brokerStub({ versions: VERSIONS, ...script });
  cleanups.push(() => stub.close());
  return stub;
}

type Answer = () => Partial<MetadataResponseInput>;

/** A broker that answers Metadata from a function asked at each request. */
function metadataBroker(answer: Answer, asked: number[] = []): Promise<BrokerStub> {
  return stubbed({
    onRequest(request, { peer }, stub) {
      if (request.apiKey !== 3) return false;
      asked.push(request.correlationId);
      const body: MetadataResponseInput = {
        brokers: [{ nodeId: 1, host: '127.0.0.1', port: stub.port }],
        clusterId: 'cluster-a',
        controllerId: 1,
        topics: [],
        ...answer(),
      };
      peer.write([encodeResponse(metadataApi, request.apiVersion, request.correlationId, body)]);
      return true;
    },
  });
}

function cluster(servers: string, more: { expectedClusterId?: string } = {}): Cluster {
  const made = new Cluster({
    name: 'east',
    properties: { 'bootstrap.servers': servers, 'socket.connection.setup.timeout.ms': '30000' },
    ...more,
  });
  cleanups.push(() => made.close());
  return made;
}

const topicId = 'AAAAAAAAAAAAAAAAAAAAAQ';

function topic(leaderId: number, leaderEpoch: number, id = topicId) {
  return {
    topics: [
      {
        name: 'orders',
        topicId: id,
        partitions: [
          { partitionIndex: 0, leaderId, leaderEpoch, replicaNodes: [1], isrNodes: [1], offlineReplicas: [] },
        ],
      },
    ],
  };
}

describe('reaching a cluster', () => {
  test('three silent addresses before a good one cost less than one of their time-outs (P18)', async () => {
    const silent = await Promise.all([1, 2, 3].map(() => stubbed({ onRequest: () => true })));
    const good = await metadataBroker(() => ({}));
    const servers = [...silent, good].map((stub) => `127.0.0.1:${stub.port}`).join(', ');
    const began = performance.now();
    const east = cluster(servers);
    expect(await east.connect()).toBe('cluster-a');
    expect(performance.now() - began).toBeLessThan(15_000);
    await vi.waitFor(() => {
      for (const stub of silent)
        expect(stub.connections.every(({ peer }) => peer.state === 'closed')).toBe(true);
    });
  });

  test('no address answers: every one is named with its cause', async () => {
    const dead = await metadataBroker(() => ({}));
    await dead.close();
    const east = cluster(`127.0.0.1:${dead.port}, 127.0.0.1:1`);
    await expect(east.connect()).rejects.toThrow(ClusterUnreachableError);
    await expect(east.connect()).rejects.toThrow(
      new RegExp(
        `cluster east can't be reached: 127\\.0\\.0\\.1:${dead.port}: .*connect-failed.*; 127\\.0\\.0\\.1:1: `,
      ),
    );
  });

  test('a pinned cluster id refuses another cluster', async () => {
    const stub = await metadataBroker(() => ({}));
    const east = cluster(`127.0.0.1:${stub.port}`, { expectedClusterId: 'cluster-b' });
    await expect(east.connect()).rejects.toThrow(ClusterIdMismatchError);
    await expect(east.connect()).rejects.toThrow(
      /belongs to cluster id cluster-a, but east is cluster id cluster-b/,
    );
    await vi.waitFor(() => expect(stub.connections.every(({ peer }) => peer.state === 'closed')).toBe(true));
  });

  test('an id that changes between two connections is refused', async () => {
    let id = 'cluster-a';
    const stub = await metadataBroker(() => ({ clusterId: id }));
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.connect();
    id = 'cluster-formatted-anew';
    await expect(east.connection(1, 'fetch')).rejects.toThrow(ClusterIdMismatchError);
  });

  test('TLS and SASL properties are refused by name', () => {
    const make = (properties: Record<string, string>) => () =>
      new Cluster({ name: 'east', properties: { 'bootstrap.servers': 'a:9092', ...properties } });
    expect(make({ 'security.protocol': 'SASL_SSL' })).toThrow(
      /east: security.protocol SASL_SSL: TLS and SASL come later/,
    );
    expect(make({ 'ssl.truststore.location': '/x' })).toThrow(/ssl.truststore.location/);
    expect(make({ 'security.protocol': 'PLAINTEXT' })).not.toThrow();
  });

  test('a hostile broker with an impossible array length fails this cluster only (S4)', async () => {
    const stub = await stubbed({
      onRequest(request, { peer }) {
        if (request.apiKey !== 3) return false;
        peer.write(plainAnswer(request.correlationId, Buffer.from('00000000007ffffffff0', 'hex')));
        return true;
      },
    });
    const east = cluster(`127.0.0.1:${stub.port}`);
    await expect(east.connect()).rejects.toThrow(/Metadata v12 answer of 127\.0\.0\.1/);
  });
});

describe('metadata', () => {
  test('an older leader epoch never replaces a newer one of the same topic', async () => {
    let answer = topic(1, 7);
    const stub = await metadataBroker(() => answer);
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.refresh(['orders']);
    expect(east.leaderOf('orders', 0)).toEqual({ nodeId: 1, leaderEpoch: 7 });
    answer = topic(2, 6);
    await east.refresh(['orders']);
    expect(east.leaderOf('orders', 0)).toEqual({ nodeId: 1, leaderEpoch: 7 });
    answer = topic(2, 8);
    await east.refresh(['orders']);
    expect(east.leaderOf('orders', 0)).toEqual({ nodeId: 2, leaderEpoch: 8 });
    east.noteLeader('orders', 0, { nodeId: 3, leaderEpoch: 8 });
    expect(east.leaderOf('orders', 0)?.nodeId).toBe(2);
    east.noteLeader('orders', 0, { nodeId: 3, leaderEpoch: 9 });
    expect(east.leaderOf('orders', 0)?.nodeId).toBe(3);
  });

  test('a topic created anew starts its epochs anew', async () => {
    let answer = topic(1, 7);
    const stub = await metadataBroker(() => answer);
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.refresh(['orders']);
    answer = topic(2, 0, 'BBBBBBBBBBBBBBBBBBBBBA');
    await east.refresh(['orders']);
    expect(east.leaderOf('orders', 0)).toEqual({ nodeId: 2, leaderEpoch: 0 });
    expect(east.topic('orders')?.topicId).toBe('BBBBBBBBBBBBBBBBBBBBBA');
  });

  test('equal questions at the same time are asked once, later ones again', async () => {
    const asked: number[] = [];
    const stub = await metadataBroker(() => topic(1, 1), asked);
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.connect();
    const before = asked.length;
    await Promise.all([east.refresh(['b', 'a']), east.refresh(['a', 'b']), east.refresh(['a', 'b'])]);
    expect(asked.length).toBe(before + 1);
    await east.refresh(['a', 'b']);
    expect(asked.length).toBe(before + 2);
  });

  test('a topic that is gone from an answer for all topics is forgotten', async () => {
    let answer: Partial<MetadataResponseInput> = topic(1, 1);
    const stub = await metadataBroker(() => answer);
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.refresh(null);
    expect(east.topics().map(({ name }) => name)).toEqual(['orders']);
    answer = { topics: [] };
    await east.refresh(null);
    expect(east.topic('orders')).toBeUndefined();
  });

  test('the highest epoch wins when all brokers are asked, and a silent one is named', async () => {
    const stubs: BrokerStub[] = [];
    const everyone = () => ({
      brokers: stubs.map((stub, index) => ({ nodeId: index + 1, host: '127.0.0.1', port: stub.port })),
    });
    stubs.push(await metadataBroker(() => ({ ...everyone(), ...topic(1, 4) })));
    stubs.push(await metadataBroker(() => ({ ...everyone(), ...topic(2, 5) })));
    stubs.push(await stubbed({ onRequest: (request) => request.apiKey === 3 }));
    const east = cluster(`127.0.0.1:${stubs[0]?.port}`);
    await east.refresh(['orders']);
    expect(east.leaderOf('orders', 0)?.leaderEpoch).toBe(4);
    const { leaders, answered, silent } = await east.leaderEpochFromAll(['orders'], 1_500);
    expect(leaders.get('orders')?.get(0)).toEqual({ nodeId: 2, leaderEpoch: 5 });
    expect(new Set(answered)).toEqual(new Set([1, 2]));
    expect(silent).toEqual([3]);
    expect(east.leaderOf('orders', 0)?.leaderEpoch).toBe(5);
  });
});

describe('lanes', () => {
  test('one connection for each broker and lane, opened anew after its end', async () => {
    const stub = await metadataBroker(() => ({}));
    const east = cluster(`127.0.0.1:${stub.port}`);
    await east.connect();
    const [a, b, c] = await Promise.all([
      east.connection(1, 'append'),
      east.connection(1, 'append'),
      east.connection(1, 'fetch'),
    ]);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
    a.end('local-close');
    await a.closed;
    const d = await east.connection(1, 'append');
    expect(d).not.toBe(a);
    expect(d.isOpen).toBe(true);
  });

  test('a broker that is not in the metadata is an error that names it', async () => {
    const stub = await metadataBroker(() => ({}));
    const east = cluster(`127.0.0.1:${stub.port}`);
    await expect(east.connection(42, 'append')).rejects.toThrow('cluster east has no broker 42');
  });

  test('close ends all and opens nothing more', async () => {
    const stub = await metadataBroker(() => ({}));
    const east = cluster(`127.0.0.1:${stub.port}`);
    const connection = await east.anyConnection('x');
    await east.close();
    expect(connection.closeCause).toBe('shutdown');
    await expect(east.anyConnection('x')).rejects.toThrow(/closed by us/);
  });
});

test('a coordinator that is being elected is waited for; each answer is judged alone (P16)', async () => {
  const errors = [15, 14, 0];
  const stub = await stubbed({
    onRequest(request, { peer }, self) {
      if (request.apiKey === 3) {
        const body = {
          brokers: [{ nodeId: 1, host: '127.0.0.1', port: self.port }],
          clusterId: 'c',
          controllerId: 1,
          topics: [],
        };
        peer.write([encodeResponse(metadataApi, request.apiVersion, request.correlationId, body)]);
        return true;
      }
      if (request.apiKey !== 10) return false;
      const errorCode = errors.shift() ?? 0;
      const coordinators = [
        { key: 'other', nodeId: 9, host: 'x', port: 1, errorCode: 0 },
        { key: 'isthmus', nodeId: errorCode === 0 ? 4 : -1, host: 'h', port: 1, errorCode },
      ];
      peer.write([
        encodeResponse(findCoordinatorApi, request.apiVersion, request.correlationId, {
          nodeId: -1,
          host: '',
          port: -1,
          coordinators,
        }),
      ]);
      return true;
    },
  });
  const east = cluster(`127.0.0.1:${stub.port}`);
  expect(await east.coordinator('transaction', 'isthmus')).toBe(4);
  expect(errors).toEqual([]);
});
