import { FrameProxy, type ProxyTarget } from './frame-proxy.ts';
import { freePorts } from './free-port.ts';
import { type ClusterOptions, type KafkaCluster, startCluster } from './kafka-cluster.ts';

export interface ProxiedCluster {
  readonly cluster: KafkaCluster;
  readonly proxy: FrameProxy;
  /** Whoever begins here is led through the proxy by all that the brokers advertise. `cluster.bootstrap` leads past it. */
  readonly bootstrapThroughProxy: string;
  destroy(): Promise<void>;
}

const HOST = '127.0.0.1';

/** A real cluster whose brokers have a second listener, advertised with the ports of a proxy. */
export async function startProxiedCluster(
  options: Omit<ClusterOptions, 'properties'> & { properties?: Readonly<Record<string, string>> } = {},
): Promise<ProxiedCluster> {
  const { brokers = 1, firstId = 1, properties = {} } = options;
  const ports = await freePorts(2 * brokers);
  const targets: ProxyTarget[] = ports.slice(0, brokers).map((port) => ({ host: HOST, port }));
  const proxy = await FrameProxy.listen(targets, ports.slice(brokers));
  try {
    const cluster = await startCluster({
      ...options,
      properties: ({ id, port, controllerPort }) => ({
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT',
        'inter.broker.listener.name': 'PLAINTEXT',
        listeners: [
          `PLAINTEXT://${HOST}:${port}`,
          `PROXIED://${HOST}:${targets[id - firstId]?.port}`,
          `CONTROLLER://${HOST}:${controllerPort}`,
        ].join(','),
        'advertised.listeners': `PLAINTEXT://${HOST}:${port},PROXIED://${HOST}:${proxy.ports[id - firstId]}`,
        ...properties,
      }),
    });
    const destroy = async (): Promise<void> => {
      await Promise.all([proxy.close(), cluster.destroy()]);
    };
    return { cluster, proxy, bootstrapThroughProxy: proxy.bootstrap, destroy };
  } catch (error) {
    await proxy.close();
    throw error;
  }
}
