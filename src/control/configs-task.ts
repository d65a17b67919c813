import { ErrorCode } from '../../protocol/errors.ts';
import { syncError } from '../observe/channels.ts';
import { Backoff } from './backoff.ts';
import type { Ledger } from './ledger.ts';
import { AdminError, type ClusterAdmin } from './ports.ts';
import { type StateView, StateFenced, type TopicRecord, partitionKey } from './state/types.ts';
import { type ConfigChange, givenBack } from './topic-settings.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Gives a topic's settings back once all of it is STOPPED (DESIGN 5.2): tried until it succeeds, after a restart
 * and after the mirror's deletion too. Until then `configsPending` shows it, and gateways keep clients from changing
 * settings; no longer once the destination has refused one (the record's `error`), for that may last.
 */
export class ConfigsTask {
  readonly #ledger: Ledger;
  readonly #destination: ClusterAdmin;
  readonly #now: () => number;
  readonly #backoff = new Backoff(500, 30_000);
  readonly #goneSince = new Map<string, number>();

  constructor(ledger: Ledger, destination: ClusterAdmin, now: () => number) {
    this.#ledger = ledger;
    this.#destination = destination;
    this.#now = now;
  }

  /** One look at all topics. */
  async round(): Promise<void> {
    for (const topic of this.#ledger.view.topics.values()) {
      if (!topic.configsPending || !isAllStopped(this.#ledger.view, topic)) continue;
      if (this.#backoff.isDue(topic.topic, this.#now())) await this.#giveBack(topic);
    }
  }

  async #giveBack(topic: TopicRecord): Promise<void> {
    try {
      const there = await this.#destination.describeTopic(topic.topic, topic.destinationTopicId);
      if (there === null && !this.#isGone(topic.topic)) return;
      if (there !== null) this.#goneSince.delete(topic.topic);
      // Another topic of that name has never had our settings.
      if (there !== null && there.topicId === topic.destinationTopicId) {
        const actual = await this.#destination.topicConfigs(topic.topic);
        const changes = givenBack(overridesOf(topic.sourceSettings), actual);
        await this.#alter(topic.topic, changes);
      }
      await this.#note(topic.topic, { configsPending: false, error: '' });
      this.#backoff.worked(topic.topic);
    } catch (error) {
      if (error instanceof StateFenced) throw error;
      const message = textOf(error);
      this.#backoff.failed(topic.topic, this.#now());
      syncError.publish({
        mirror: topic.mirror ?? '',
        task: `give back settings of ${topic.topic}`,
        message,
      });
      const passes = error instanceof AdminError && error.retriable;
      if (!passes && topic.error !== message) await this.#note(topic.topic, { error: message });
    }
  }

  /** A value that the destination does not take (a policy, another release) keeps no other from being given back. */
  async #alter(topic: string, changes: readonly ConfigChange[]): Promise<void> {
    try {
      await this.#destination.alterTopicConfigs(topic, changes);
    } catch (error) {
      if (changes.length === 1 || !isOfValues(error)) throw error;
      const tried = await Promise.allSettled(
        changes.map((change) => this.#destination.alterTopicConfigs(topic, [change])),
      );
      // none: it was only together that they were refused
      const refused = tried.find((one) => one.status === 'rejected');
      if (refused !== undefined) throw refused.reason as Error;
    }
  }

  /** A broker that has just started may not know it yet: gone is what stays unknown. */
  #isGone(name: string): boolean {
    const now = this.#now();
    const since = this.#goneSince.get(name) ?? now;
    this.#goneSince.set(name, since);
    return now - since > goneAfterMs;
  }

  async #note(name: string, columns: Partial<TopicRecord>): Promise<void> {
    await this.#ledger.updateSoon((draft) => {
      const topic = draft.topic(name);
      if (topic?.configsPending === true) draft.put({ ...topic, ...columns });
    });
  }
}

const goneAfterMs = 10_000;

/** The broker answered, and it is not about rights, which all changes would lack. */
function isOfValues(error: unknown): boolean {
  if (!(error instanceof AdminError) || error.retriable || error.code === -1) return false;
  return (
    error.code !== ErrorCode.TOPIC_AUTHORIZATION_FAILED &&
    error.code !== ErrorCode.CLUSTER_AUTHORIZATION_FAILED
  );
}

export function isAllStopped(view: StateView, topic: TopicRecord): boolean {
  for (let partition = 0; partition < topic.partitions; partition++) {
    if (!view.knows(topic.topic, partition)) return false;
    const state = view.partitions.get(partitionKey(topic.topic, partition))?.state ?? 'STOPPED';
    if (state !== 'STOPPED') return false;
  }
  return true;
}

function overridesOf(settings: Readonly<Record<string, string | null>>): Map<string, string> {
  const overrides = new Map<string, string>();
  for (const [name, value] of Object.entries(settings)) if (value !== null) overrides.set(name, value);
  return overrides;
}
