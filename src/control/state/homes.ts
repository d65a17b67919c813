import { statePartitionOf } from './keys.ts';

/** State partitions of mirror partitions, worked out once each: the gateway asks for every Produce. */
export class Homes {
  readonly count: number;
  readonly #known = new Map<string, number[]>();

  constructor(statePartitions: number) {
    this.count = statePartitions;
  }

  of(topic: string, partition: number): number {
    let homes = this.#known.get(topic);
    if (homes === undefined) {
      homes = [];
      this.#known.set(topic, homes);
    }
    return (homes[partition] ??= statePartitionOf(topic, partition, this.count));
  }

  /** Of a whole topic: those of its partitions, and partition 0 with its topic record. */
  ofTopic(topic: string, partitions: number): ReadonlySet<number> {
    const homes = new Set([0]);
    for (let partition = 0; partition < partitions; partition++) homes.add(this.of(topic, partition));
    return homes;
  }
}
