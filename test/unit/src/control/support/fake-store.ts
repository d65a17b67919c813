import {
  type CommandHandler,
  type CommandRecord,
  type MirrorRecord,
  type NewCommand,
  type OwnerRecord,
  type PartitionRecord,
  type ResultRecord,
  type StateChange,
  type StateStore,
  type Stored,
  type TopicRecord,
  type ViewChange,
  partitionKey,
} from '../../../../../src/control/state/types.ts';

import { keyOfChange, keyText } from '../../../../../src/control/state/keys.ts';

/** A state topic in memory: what is written is in the view a turn of the event loop later. */
export class FakeStore implements StateStore {
  readonly view = {
    mirrors: new Map<string, Stored<MirrorRecord>>(),
    topics: new Map<string, Stored<TopicRecord>>(),
    partitions: new Map<string, Stored<PartitionRecord>>(),
    owners: new Map<number, Stored<OwnerRecord>>(),
    commands: new Map<string, Stored<CommandRecord>>(),
    results: new Map<string, Stored<ResultRecord>>(),
    knows: (topic: string, partition: number) => !this.unknown.has(partitionKey(topic, partition)),
  };
  /** Partitions whose state partition was never read. */
  readonly unknown = new Set<string>();
  /** Why the state of a partition, or of mirrors, topics and commands (key ""), is out of reach. */
  readonly away = new Map<string, string>();
  /** Writes that touch one of these keys are not acknowledged before they leave it. */
  readonly stuck = new Map<string, Promise<void>>();
  readonly incarnation = 1;
  readonly previousOwners = new Map<number, Stored<OwnerRecord>>();
  readonly released = new Map<string, number>();
  closedWith: ReadonlyMap<string, number> | undefined;
  writes = 0;
  fenced = false;
  /** Thrown by the next writes, one each. */
  readonly faults: Error[] = [];
  readonly #listeners = new Set<(changes: readonly ViewChange[]) => void>();
  #handler: CommandHandler | null = null;
  #commands = 0;

  releasedEnd(topic: string, partition: number): number | null {
    return this.released.get(partitionKey(topic, partition)) ?? null;
  }

  async open(): Promise<void> {}

  async write(changes: readonly StateChange[]): Promise<void> {
    await Promise.resolve();
    for (const change of changes) await this.stuck.get(keyText(keyOfChange(change)));
    const fault = this.faults.shift();
    if (fault !== undefined) throw fault;
    this.writes += 1;
    const told: ViewChange[] = [];
    for (const change of changes) {
      if (!('put' in change)) continue;
      const record = { ...change.put, ownerEpoch: 1 };
      switch (record.kind) {
        case 'mirror':
          this.view.mirrors.set(record.name, record);
          told.push({ key: `mirror/${record.name}`, record });
          break;
        case 'topic':
          this.view.topics.set(record.topic, record);
          told.push({ key: `topic/${record.topic}`, record });
          break;
        case 'partition':
          this.view.partitions.set(partitionKey(record.topic, record.partition), record);
          told.push({ key: `partition/${partitionKey(record.topic, record.partition)}`, record });
          break;
      }
    }
    for (const listener of this.#listeners) listener(told);
  }

  async submit(command: NewCommand): Promise<Stored<ResultRecord>> {
    this.#commands += 1;
    const now = 1_000_000 + this.#commands;
    return this.take({
      kind: 'command',
      id: `c${this.#commands}`,
      verb: command.verb,
      mirror: command.mirror ?? '',
      topics: command.topics ?? [],
      all: command.all ?? false,
      options: JSON.stringify(command.options ?? {}),
      issuedAt: now,
      deadline: now + 30_000,
      issuer: command.issuer ?? '',
      begunAt: now,
    });
  }

  readonly taken: CommandRecord[] = [];

  /** Hands a command to the handler, as the owner does; the same one again after a crash. */
  async take(command: CommandRecord): Promise<Stored<ResultRecord>> {
    if (this.#handler === null) throw new Error('no handler');
    this.taken.push(command);
    const outcome = await this.#handler({ ...command, ownerEpoch: 1 });
    await this.write(outcome.changes);
    return {
      kind: 'result',
      id: command.id,
      ok: outcome.ok,
      errorCode: outcome.errorCode ?? 0,
      errorMessage: outcome.errorMessage ?? '',
      topics: outcome.topics ?? [],
      report: JSON.stringify(outcome.report ?? {}),
      finishedAt: 0,
      ownerEpoch: 1,
    };
  }

  onCommand(handler: CommandHandler): void {
    this.#handler = handler;
  }

  onChange(listener: (changes: readonly ViewChange[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  freshness(topic?: string, partition?: number): 'fresh' | 'stale' {
    if (topic !== undefined && partition === undefined) {
      return [...this.away.keys()].some((key) => key.startsWith(`${topic}/`)) ? 'stale' : 'fresh';
    }
    return this.outage(topic, partition) === null ? 'fresh' : 'stale';
  }

  outage(topic?: string, partition?: number): string | null {
    const key = topic === undefined || partition === undefined ? '' : partitionKey(topic, partition);
    return this.away.get(key) ?? null;
  }

  outages(): ReadonlyMap<number, string> {
    return new Map([...this.away.values()].map((why, at) => [at, why]));
  }

  async whenLoaded(): Promise<void> {}

  onFenced(): void {}

  mayAppend(topic?: string, partition?: number): boolean {
    return !this.fenced && this.outage(topic, partition) === null;
  }

  async whenMayAppend(): Promise<void> {}

  async close(released?: ReadonlyMap<string, number>): Promise<void> {
    this.closedWith = released;
  }
}
