import { gatewayNotice } from '../observe/channels.ts';

/**
 * Which of our addresses stands for which broker. Fixed at start: a client that only holds a broker address must
 * find it again after our restart (case P12). A broker that is not in the map has no address at all for clients, so
 * that nobody ever dials it past us (case P1).
 */
export interface ClientAddress {
  readonly host: string;
  readonly port: number;
}

/** A cluster with more brokers without a port than this tells nothing new with one more. */
const MOST_TOLD = 100;

export class NodeMap {
  readonly #gateway: string;
  readonly #addresses: ReadonlyMap<number, ClientAddress>;
  readonly #told = new Set<number>();

  constructor(gateway: string, addresses: ReadonlyMap<number, ClientAddress>) {
    this.#gateway = gateway;
    this.#addresses = addresses;
  }

  get nodeIds(): readonly number[] {
    return [...this.#addresses.keys()];
  }

  has(nodeId: number): boolean {
    return this.#addresses.has(nodeId);
  }

  /** The address that clients get for a broker; undefined (and one log line ever, for so many) when it has none. */
  addressOf(nodeId: number): ClientAddress | undefined {
    const address = this.#addresses.get(nodeId);
    const isNews = address === undefined && nodeId >= 0 && this.#told.size < MOST_TOLD;
    if (isNews && !this.#told.has(nodeId)) {
      this.#told.add(nodeId);
      gatewayNotice.publish({
        gateway: this.#gateway,
        level: 'warn',
        message:
          `broker ${nodeId} has no port in gateway ${this.#gateway}: its partitions are shown without a leader; ` +
          'add it to nodeIds and give it a port in brokerPorts',
      });
    }
    return address;
  }
}
