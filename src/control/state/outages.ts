import { lifecycle } from '../../observe/channels.ts';
import type { OwnerWriters } from './owner-writers.ts';
import type { Ownership } from './ownership.ts';
import type { StateReader } from './state-reader.ts';
import type { StateTopicSettings } from './state-topic.ts';

/** A write that is tried for so long counts as an outage: a coordinator that moves takes a broker's session time. */
const STUCK_MS = 10_000;

/** Which state partitions are out of reach, why, and what to do; told in the log when that changes. */
export class Outages {
  readonly #settings: StateTopicSettings;
  readonly #cluster: string;
  readonly #reader: StateReader;
  readonly #writers: OwnerWriters;
  readonly #ownership: Ownership;
  #told = '';

  constructor(
    settings: StateTopicSettings,
    cluster: string,
    parts: { readonly reader: StateReader; readonly writers: OwnerWriters; readonly ownership: Ownership },
  ) {
    this.#settings = settings;
    this.#cluster = cluster;
    this.#reader = parts.reader;
    this.#writers = parts.writers;
    this.#ownership = parts.ownership;
  }

  of(partition: number): string | null {
    const why = this.#why(partition);
    const { topic, replicationFactor } = this.#settings;
    if (why === null) {
      if (this.#ownership.owns(partition)) return null;
      const what = 'is being taken over, which takes some seconds after it could be reached';
      return `partition ${partition} of the state topic ${topic} on ${this.#cluster} ${what}`;
    }
    const way =
      replicationFactor < 3
        ? `start the broker that holds it (${topic} has one or two replicas; give it 3, on 3 brokers)`
        : `start the brokers that hold it`;
    return `partition ${partition} of the state topic ${topic} on ${this.#cluster} is out of reach: ${why}; ${way}`;
  }

  all(): ReadonlyMap<number, string> {
    const outages = new Map<number, string>();
    for (let partition = 0; partition < this.#settings.partitions; partition++) {
      const outage = this.of(partition);
      if (outage !== null) outages.set(partition, outage);
    }
    return outages;
  }

  /** Called now and then: the log names what went and what came back. */
  tell(): void {
    const outages = this.all();
    const away = [...outages.keys()].join(', ');
    if (away === this.#told) return;
    const { topic } = this.#settings;
    const [first] = outages.values();
    if (first === undefined) {
      lifecycle.publish({ level: 'info', message: `all of the state topic ${topic} is in reach again` });
    } else {
      const verbs = outages.has(0) ? ', and so do all verbs (partition 0)' : '';
      const what = `partitions ${away} of the state topic ${topic} are out of reach, what lives there waits${verbs}: ${first}`;
      lifecycle.publish({ level: 'warn', message: what, fields: { topic } });
    }
    this.#told = away;
  }

  #why(partition: number): string | null {
    const { positions } = this.#reader;
    if (positions.isOutOfReach(partition)) return positions.gap(partition);
    return this.#writers.stuckFor(partition, STUCK_MS);
  }
}
