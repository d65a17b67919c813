import { type Gateway, type GatewayConfig, startGateway } from '../../../src/gateway/index.ts';
import type { Cluster } from '../../../src/net/cluster.ts';
import { StubMirrorRole, StubVerbs, StubView } from './stub-control.ts';

export interface StubGatewayOptions {
  readonly config?: Partial<GatewayConfig>;
  readonly view?: StubView;
  readonly verbs?: StubVerbs;
  readonly mirrorRole?: StubMirrorRole;
}

/** A gateway on free ports in front of a connected cluster, real or fake, over mirrors that the test makes up. */
export async function startStubGateway(cluster: Cluster, options: StubGatewayOptions = {}): Promise<Gateway> {
  return await startGateway({
    config: {
      name: 'gw',
      role: 'client',
      mirror: null,
      bind: { host: '127.0.0.1', port: 0 },
      advertise: '127.0.0.1',
      brokerPorts: new Map(cluster.brokers().map(({ nodeId }) => [nodeId, 0])),
      readOnlyError: 'policy-violation',
      ...options.config,
    },
    cluster,
    view: options.view ?? new StubView(),
    verbs: options.verbs ?? new StubVerbs(),
    mirrorRole: options.mirrorRole ?? new StubMirrorRole(),
  });
}
