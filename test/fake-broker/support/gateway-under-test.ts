import type { Gateway, GatewayConfig } from '../../../src/gateway/index.ts';
import { Cluster } from '../../../src/net/cluster.ts';
import { type FakeBrokerOptions, type FakeCluster, startFakeBroker } from '../index.ts';
import { StubMirrorRole, StubVerbs, StubView } from './stub-control.ts';
import { startStubGateway } from './stub-gateway.ts';
import { WireClient } from './wire-client.ts';

/** A gateway in front of a fake cluster, with a stub for control, and everything closed at the end. */
export interface UnderTest {
  readonly fake: FakeCluster;
  readonly gateway: Gateway;
  readonly cluster: Cluster;
  readonly view: StubView;
  readonly verbs: StubVerbs;
  readonly mirrorRole: StubMirrorRole;
  /** A client of the bootstrap port, or of a broker's. */
  connect(node?: number): Promise<WireClient>;
  portOf(node?: number): number;
  close(): Promise<void>;
}

export interface UnderTestOptions extends FakeBrokerOptions {
  readonly config?: Partial<GatewayConfig>;
  readonly view?: StubView;
}

export async function startUnderTest(options: UnderTestOptions = {}): Promise<UnderTest> {
  const fake = await startFakeBroker(options);
  const cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
  await cluster.connect();
  const view = options.view ?? new StubView();
  const verbs = new StubVerbs();
  const mirrorRole = new StubMirrorRole();
  const brokerPorts = new Map(fake.state.nodes.map(({ id }) => [id, 0]));
  const config = { brokerPorts, ...options.config };
  const gateway = await startStubGateway(cluster, { config, view, verbs, mirrorRole });
  const clients: WireClient[] = [];
  const portOf = (node?: number): number => {
    const address = node === undefined ? gateway.addresses.bootstrap : gateway.addresses.brokers.get(node);
    if (address === undefined) throw new Error(`the gateway has no port for broker ${node}`);
    return address.port;
  };
  return {
    fake,
    gateway,
    cluster,
    view,
    verbs,
    mirrorRole,
    portOf,
    async connect(node) {
      const client = await WireClient.connect(portOf(node));
      clients.push(client);
      return client;
    },
    async close() {
      for (const client of clients) client.end();
      await fake.close();
      await gateway.close();
      await cluster.close();
    },
  };
}
