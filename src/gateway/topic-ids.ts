/**
 * Names of topic ids. Produce 13+, Fetch 13+ and DeleteTopics 6 name topics by id, the mirrors' state by name. Learned
 * from the Metadata answers that pass through the gateway and, for an id that is not known, asked from the cluster.
 * A topic id never comes back for another topic, so an entry never becomes wrong; the oldest are dropped by
 * generations, which bounds the map.
 */
const GENERATION_SIZE = 50_000;
const UNKNOWN_FOR_MS = 1_000;
const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

/** Names of those of the ids that exist. */
export type TopicIdLookup = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

export class TopicIds {
  readonly #lookup: TopicIdLookup;
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  /** Ids that the cluster did not know, with the time until which it is not asked again. */
  readonly #unknown = new Map<string, number>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(lookup: TopicIdLookup) {
    this.#lookup = lookup;
  }

  learn(id: string, name: string): void {
    if (id === ZERO_ID || this.#young.has(id)) return;
    if (this.#young.size >= GENERATION_SIZE) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, name);
    this.#unknown.delete(id);
  }

  nameOf(id: string): string | undefined {
    const name = this.#young.get(id);
    if (name !== undefined) return name;
    const old = this.#old.get(id);
    if (old !== undefined) this.learn(id, old);
    return old;
  }

  /** true when asking the cluster is worth it: the id is not known and was not just found to be unknown. */
  needsLookup(id: string): boolean {
    if (this.nameOf(id) !== undefined) return false;
    const until = this.#unknown.get(id);
    if (until === undefined) return true;
    if (performance.now() < until) return false;
    this.#unknown.delete(id);
    return true;
  }

  /** Asks the cluster for the names; never rejects. Afterwards `nameOf` says what is known. */
  async resolve(ids: readonly string[]): Promise<void> {
    const asked = ids.filter((id) => this.needsLookup(id));
    const fresh = asked.filter((id) => !this.#running.has(id));
    if (fresh.length > 0) {
      const run = this.#ask(fresh);
      for (const id of fresh) this.#running.set(id, run);
    }
    for (const id of asked) await this.#running.get(id);
  }

  async #ask(ids: readonly string[]): Promise<void> {
    let names: ReadonlyMap<string, string> = new Map();
    try {
      names = await this.#lookup(ids);
    } catch {
      // not reachable: unknown for a moment, the client tries again
    }
    if (this.#unknown.size > GENERATION_SIZE) this.#unknown.clear();
    for (const id of ids) {
      const name = names.get(id);
      if (name === undefined) this.#unknown.set(id, performance.now() + UNKNOWN_FOR_MS);
      else this.learn(id, name);
      this.#running.delete(id);
    }
  }
}
