import { syncError } from '../observe/channels.ts';
import type { TopicWriters } from '../net/topic-writers.ts';
import type { Surroundings } from './ports.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Who may write to mirror topics past the gateways, as the destination's ACLs say: asked again every 30 s. Such
 * writers are not stopped, only found, so describe and a metric name them.
 */
export class WritersTask {
  readonly #surroundings: Surroundings;
  #writers: TopicWriters | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #trouble = '';

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Principals, `anyone` for a cluster without an authorizer; null while it is not known. */
  writersOf(topic: string): readonly string[] | null {
    const writers = this.#writers;
    if (writers === null || writers.kind === 'unknown') return null;
    return writers.kind === 'anyone' ? ['anyone'] : writers.writersOf(topic);
  }

  async round(): Promise<void> {
    const now = this.#surroundings.now();
    if (now - this.#askedAt < everyMs) return;
    this.#askedAt = now;
    try {
      this.#writers = await this.#surroundings.topicWriters();
    } catch (error) {
      const why = textOf(error);
      this.#writers = { kind: 'unknown', why };
    }
    const trouble = this.#writers.kind === 'unknown' ? this.#writers.why : '';
    if (trouble !== '' && trouble !== this.#trouble) {
      const message = `who may write to mirror topics past the gateways is not known: ${trouble}`;
      syncError.publish({ mirror: '', task: 'writers', message });
    }
    this.#trouble = trouble;
  }
}

const everyMs = 30_000;
