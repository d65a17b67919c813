import type { Cluster } from '../net/cluster.ts';
import type { BrokerAddress } from './upstream.ts';

/**
 * A broker may come back at another address, and its old one may have become another broker's: a port of ours would go
 * on leading there, and clients would be told "not the leader" for ever, for our address stays. Metadata answers that
 * pass tell where brokers are; one that is elsewhere than we believe makes us ask, and connections that lead to where
 * their broker is no more are given up.
 */
export interface PinnedConnection {
  /** Where its upstream leads; null while there is none, or when it must not be given up now. */
  readonly leadsTo: BrokerAddress | null;
  giveUp(why: string): void;
}

/** A broker that is cut off may tell old addresses with every answer: asked is at most so often. */
const ASKED_EVERY_MS = 1_000;

export class BrokerMoves {
  readonly #cluster: Cluster;
  readonly #pinned: () => Iterable<PinnedConnection>;
  #quietUntil = Number.NEGATIVE_INFINITY;
  #asking = false;
  /** Some could not be given up, or led nowhere yet, when they were looked at last. */
  #left = false;

  /** @param pinned connections that came through a broker's port */
  constructor(cluster: Cluster, pinned: () => Iterable<PinnedConnection>) {
    this.#cluster = cluster;
    this.#pinned = pinned;
  }

  /** A broker's Metadata answer says where brokers are. */
  told(brokers: readonly BrokerAddress[]): void {
    if (this.#asking || performance.now() < this.#quietUntil) return;
    const known = this.#addresses();
    const isNews = ({ nodeId, host, port }: BrokerAddress): boolean =>
      known.get(nodeId) !== addressText(host, port);
    if (brokers.some(isNews)) void this.#ask();
    else if (this.#left) this.#giveUpMoved();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      await this.#cluster.refresh([]);
      this.#giveUpMoved();
    } catch {
      // not reachable now: told again by the next answer
    } finally {
      this.#asking = false;
      this.#beQuiet();
    }
  }

  #beQuiet(): void {
    this.#quietUntil = performance.now() + ASKED_EVERY_MS;
  }

  #giveUpMoved(): void {
    const known = this.#addresses();
    this.#left = false;
    this.#beQuiet();
    for (const connection of this.#pinned()) {
      const { leadsTo } = connection;
      if (leadsTo === null) {
        this.#left = true;
        continue;
      }
      const now = known.get(leadsTo.nodeId);
      if (now === undefined || now === addressText(leadsTo.host, leadsTo.port)) continue;
      connection.giveUp(`broker ${leadsTo.nodeId} is at ${now} now`);
    }
  }

  #addresses(): Map<number, string> {
    return new Map(
      this.#cluster.brokers().map(({ nodeId, host, port }) => [nodeId, addressText(host, port)]),
    );
  }
}

function addressText(host: string, port: number): string {
  return `${host}:${port}`;
}
