import { describeConfigsApi } from '../../protocol/schema/32-describe-configs.ts';
import type { Cluster } from '../net/cluster.ts';
import type { LinkSettings } from './settings.ts';

const BROKER_RESOURCE = 4;
const SETTING = 'socket.request.max.bytes';
const LANE = 'readback';

/**
 * What a destination broker reads as one request at most. It answers a larger one with nothing but the end of the
 * connection, which looks like an append that was lost, for ever again.
 */
export class RequestLimits {
  readonly #cluster: Cluster;
  readonly #settings: LinkSettings;
  readonly #known = new Map<number, number>();

  constructor(cluster: Cluster, settings: LinkSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  /** The broker's own limit, Infinity while it is not known. */
  ofBroker(nodeId: number): number {
    return this.#known.get(nodeId) ?? Number.POSITIVE_INFINITY;
  }

  /** Bytes that a request may have: ours, or what the broker takes if that is less. */
  of(nodeId: number): number {
    return Math.min(this.#settings.maxRequestBytes, this.ofBroker(nodeId));
  }

  /** Asked at every new connection: who may not read it, or gets no answer, goes by our own limit alone. */
  async learn(nodeId: number): Promise<void> {
    const timeoutMs = this.#settings.readBackTimeoutMs;
    try {
      const connection = await this.#cluster.connection(nodeId, LANE, { connectTimeoutMs: timeoutMs });
      const resource = {
        resourceType: BROKER_RESOURCE,
        resourceName: String(nodeId),
        configurationKeys: [SETTING],
      };
      const answer = await connection.call(describeConfigsApi, { resources: [resource] }, { timeoutMs });
      const value = Number(answer.results[0]?.configs.find(({ name }) => name === SETTING)?.value);
      if (Number.isSafeInteger(value) && value > 0) this.#known.set(nodeId, value);
    } catch {
      // the append itself will tell what is wrong with the broker
    }
  }
}

/** What fails a batch that the broker would never read. */
export function tooLargeForRequest(bytes: number, nodeId: number, limit: number): string {
  return `${bytes} bytes do not fit into a request to broker ${nodeId}, whose ${SETTING} is ${limit}; raise it there`;
}
