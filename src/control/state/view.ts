import { decodeRecord } from './codec.ts';
import { type StateKey, parseKey, placementOf, statePartitionOf } from './keys.ts';
import {
  type CommandRecord,
  type MirrorRecord,
  type OwnerRecord,
  type PartitionRecord,
  type ResultRecord,
  type StateRecord,
  StateUnusable,
  type StateView,
  type Stored,
  type TopicRecord,
  type ViewChange,
  partitionKey,
} from './types.ts';

/**
 * The state as the log tells it, record by record: the latest of a key wins, a null value deletes, and what an older
 * owner wrote behind a newer one's back is ignored. Built by the reader only, so it is never ahead of the log.
 */
export class ReplayedView implements StateView {
  readonly mirrors = new Map<string, Stored<MirrorRecord>>();
  readonly topics = new Map<string, Stored<TopicRecord>>();
  readonly partitions = new Map<string, Stored<PartitionRecord>>();
  readonly owners = new Map<number, Stored<OwnerRecord>>();
  readonly commands = new Map<string, Stored<CommandRecord>>();
  readonly results = new Map<string, Stored<ResultRecord>>();
  readonly #statePartitions: number;
  /** Highest owner epoch seen, by state partition. */
  readonly #ownerEpochs: number[];
  readonly #isHeld: (statePartition: number) => boolean;
  #ignored = 0;

  /** @param isHeld whether a state partition's records are kept out, because it was not read to its end yet */
  constructor(statePartitions: number, isHeld: (statePartition: number) => boolean = () => false) {
    this.#statePartitions = statePartitions;
    this.#isHeld = isHeld;
    this.#ownerEpochs = Array.from({ length: statePartitions }, () => 0);
  }

  knows(topic: string, partition: number): boolean {
    return !this.#isHeld(statePartitionOf(topic, partition, this.#statePartitions));
  }

  /** Records passed over: of an older owner, or with a key of no known kind. */
  get ignored(): number {
    return this.#ignored;
  }

  /**
   * Applies one committed record; undefined when it changed nothing.
   * @throws StateCodecError for a record of a newer version, or a damaged one
   * @throws StateUnusable for a record that belongs into another state partition
   */
  apply(statePartition: number, keyName: string, value: Uint8Array | null): ViewChange | undefined {
    const key = parseKey(keyName);
    if (key === undefined) {
      this.#ignored += 1;
      return undefined;
    }
    const home = placementOf(key, this.#statePartitions);
    if (home !== statePartition) {
      throw new StateUnusable(
        `state record ${keyName} stands in partition ${statePartition} of the state topic and belongs into ${home}: ` +
          'were partitions added to the topic? Their number may not change',
      );
    }
    if (value === null) return this.#delete(key) ? { key: keyName, record: undefined } : undefined;
    const record = decodeRecord(keyName, value);
    if (this.#isStale(statePartition, record)) {
      this.#ignored += 1;
      return undefined;
    }
    this.#put(record);
    return { key: keyName, record };
  }

  /** Commands come from anyone and carry no epoch until their owner begins them. */
  #isStale(statePartition: number, record: Stored<StateRecord>): boolean {
    if (record.kind === 'command' && record.ownerEpoch === 0) return false;
    const highest = this.#ownerEpochs[statePartition] ?? 0;
    if (record.ownerEpoch < highest) return true;
    this.#ownerEpochs[statePartition] = record.ownerEpoch;
    return false;
  }

  #put(record: Stored<StateRecord>): void {
    switch (record.kind) {
      case 'mirror':
        this.mirrors.set(record.name, record);
        return;
      case 'topic':
        this.topics.set(record.topic, record);
        return;
      case 'partition':
        this.partitions.set(partitionKey(record.topic, record.partition), record);
        return;
      case 'owner':
        this.owners.set(record.statePartition, record);
        return;
      case 'command':
        this.commands.set(record.id, record);
        return;
      case 'result':
        this.results.set(record.id, record);
    }
  }

  #delete(key: StateKey): boolean {
    switch (key.kind) {
      case 'mirror':
        return this.mirrors.delete(key.name);
      case 'topic':
        return this.topics.delete(key.topic);
      case 'partition':
        return this.partitions.delete(partitionKey(key.topic, key.partition));
      case 'owner':
        return this.owners.delete(key.statePartition);
      case 'command':
        return this.commands.delete(key.id);
      case 'result':
        return this.results.delete(key.id);
    }
  }
}
