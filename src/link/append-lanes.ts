import type { Cluster } from '../net/cluster.ts';
import { AppendLane, type LaneEngine, type LaneHooks } from './append-lane.ts';
import type { DataEngine, DataItem } from './data-engine.ts';
import type { MarkerEngine, MarkerItem } from './marker-engine.ts';
import type { MirrorPartition } from './partition.ts';

/** The lanes of a link to its destination's brokers: one for data and one for markers to each, made when first used. */
export class AppendLanes {
  readonly #destination: Cluster;
  readonly #dataEngine: DataEngine;
  readonly #markerEngine: MarkerEngine;
  readonly #hooks: LaneHooks;
  readonly #data = new Map<number, AppendLane<DataItem[]>>();
  readonly #markers = new Map<number, AppendLane<MarkerItem[]>>();

  constructor(destination: Cluster, data: DataEngine, markers: MarkerEngine, hooks: LaneHooks) {
    this.#destination = destination;
    this.#dataEngine = data;
    this.#markerEngine = markers;
    this.#hooks = hooks;
  }

  data(nodeId: number): AppendLane<DataItem[]> {
    return this.#laneOf(this.#data, nodeId, this.#dataEngine);
  }

  markers(nodeId: number): AppendLane<MarkerItem[]> {
    return this.#laneOf(this.#markers, nodeId, this.#markerEngine);
  }

  /** Takes back an offered partition that is in no request yet. @returns false when no lane has it */
  withdraw(partition: MirrorPartition): boolean {
    return this.#all().some((lane) => lane.withdraw(partition));
  }

  /** Partitions that wait behind requests that have been on their way for more than `ms`. */
  behindSilence(now: number, ms: number): ReadonlySet<MirrorPartition> {
    return new Set(this.#all().flatMap((lane) => lane.behindSilence(now, ms)));
  }

  /** The system has taken all bytes of the data on its way to the broker. */
  hasSentAll(nodeId: number): boolean {
    return this.#data.get(nodeId)?.isFlushed === true;
  }

  close(): void {
    for (const lane of this.#all()) lane.close();
  }

  #laneOf<C>(lanes: Map<number, AppendLane<C>>, nodeId: number, engine: LaneEngine<C>): AppendLane<C> {
    let lane = lanes.get(nodeId);
    if (lane === undefined) {
      lane = new AppendLane(this.#destination, nodeId, engine, this.#hooks);
      lanes.set(nodeId, lane);
    }
    return lane;
  }

  #all(): AppendLane<unknown>[] {
    return [...this.#data.values(), ...this.#markers.values()] as AppendLane<unknown>[];
  }
}
