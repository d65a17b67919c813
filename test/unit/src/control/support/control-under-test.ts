import { vi } from 'vitest';
import { DestinationControl } from '../../../../../src/control/destination-control.ts';
import type { JsonAnswer } from '../../../../../src/control/json-verbs.ts';
import type { PartitionRecord } from '../../../../../src/control/state/types.ts';
import type { MirrorEntry } from '../../../../../src/control/yaml-mirrors.ts';
import type { VerbCall } from '../../../../../src/gateway/ports.ts';
import { FakeStore } from './fake-store.ts';
import { FakeWorld } from './fake-world.ts';
import { mirrorRecord, partitionRecord, topicRecord } from './records.ts';

const everything = 0xffff;

/** The control of destination `west` with its source `east`, over fakes, asked as by a gateway. */
export class ControlUnderTest {
  readonly store = new FakeStore();
  readonly world = new FakeWorld();
  /** Topics that the caller's own connection tells of, with its rights; null = all, with every right. */
  told: ReadonlyMap<string, number> | null = null;
  #control: DestinationControl | null = null;

  get control(): DestinationControl {
    if (this.#control === null) throw new Error('not started');
    return this.#control;
  }

  start(entries: readonly MirrorEntry[] = []): this {
    this.#control = new DestinationControl({
      destinationName: 'west',
      stateTopic: '__mirror_state',
      store: this.store,
      surroundings: this.world,
      clusters: new Map(['east', 'west', ...this.world.others.keys()].map((name) => [name, `${name}:9092`])),
      entries,
    });
    this.#control.start();
    return this;
  }

  /** Records of a mirror that ran before, and the topics that they name at both clusters. */
  async recorded(
    partitions: readonly PartitionRecord[],
    more: Partial<typeof topicRecord> = {},
  ): Promise<void> {
    const topic = { ...topicRecord, partitions: partitions.length, ...more };
    this.world.source.add(topic.topic, partitions.length);
    this.world.destination.add(topic.topic, partitions.length);
    setId(this.world.source, topic.topic, topic.sourceTopicId);
    setId(this.world.destination, topic.topic, topic.destinationTopicId);
    await this.store.write([
      { put: mirrorRecord },
      { put: topic },
      ...partitions.map((record) => ({ put: record })),
    ]);
  }

  /** What is recorded of a partition of `orders`. */
  record(partition = 0): PartitionRecord {
    return this.store.view.partitions.get(`orders/${partition}`) ?? partitionRecord('UNKNOWN');
  }

  async untilState(state: string, partition = 0): Promise<void> {
    await vi.waitFor(() => {
      const { state: now, errorMessage } = this.record(partition);
      if (now !== state) throw new Error(`orders-${partition} is ${now}: ${errorMessage}`);
    });
  }

  /** Resolves when so much of the fakes' time has gone by. */
  async after(ms: number): Promise<void> {
    const from = this.world.now();
    await vi.waitFor(() => {
      if (this.world.now() - from < ms) throw new Error('not yet');
    });
  }

  async ask(verb: string, request: object = {}): Promise<JsonAnswer> {
    const answer = (await this.control.verbs.handle(this.#call({ verb, ...request }))) as { json: string };
    return JSON.parse(answer.json) as JsonAnswer;
  }

  async close(): Promise<void> {
    await this.#control?.close();
  }

  #call(request: object): VerbCall {
    return {
      apiKey: 32001,
      apiVersion: 0,
      body: { json: JSON.stringify(request) },
      clientAddress: '127.0.0.1',
      clientId: 'test',
      rights: {
        cluster: async () => everything,
        topics: async (names) => this.told ?? new Map(names.map((name) => [name, everything])),
      },
    };
  }
}

function setId(cluster: FakeWorld['source'], name: string, id: string): void {
  const topic = cluster.topics.get(name);
  if (topic !== undefined) topic.topicId = id;
}
