import { barrierId } from '../../../../../protocol/records/ids.ts';
import type { DestinationPartition, StoredBatch } from '../../../../../src/control/ports.ts';

/** A destination partition in memory: batches in a row, one offset or more each. */
export class FakeLog implements DestinationPartition {
  readonly batches: StoredBatch[] = [];
  settles = 0;
  /** Called before each request; throwing is the request's failure. */
  fault: (request: 'readEnd' | 'settle' | 'readBatches' | 'appendBarrier' | 'appended') => void = () =>
    undefined;

  get end(): number {
    return (this.batches.at(-1)?.lastOffset ?? -1) + 1;
  }

  data(count: number, producerId: bigint, isTransactional = false): this {
    return this.#add(count, { producerId, isControl: false, isTransactional, marker: null });
  }

  marker(producerId: bigint, coordinatorEpoch = 0): this {
    const marker = { type: 1, coordinatorEpoch };
    return this.#add(1, { producerId, isControl: true, isTransactional: true, marker });
  }

  barriers(): number[] {
    return this.batches
      .filter(({ producerId }) => producerId <= -(1n << 62n))
      .map(({ baseOffset }) => baseOffset);
  }

  async readEnd(): Promise<{ end: number; logStart: number }> {
    this.fault('readEnd');
    return { end: this.end, logStart: 0 };
  }

  async settle(): Promise<{ end: number; settledBy: string }> {
    this.fault('settle');
    this.settles += 1;
    return { end: this.end, settledBy: 'probe' };
  }

  async readBatches(from: number, to: number, visit: (batch: StoredBatch) => void): Promise<void> {
    this.fault('readBatches');
    for (const batch of this.batches) if (batch.lastOffset >= from && batch.baseOffset < to) visit(batch);
  }

  async appendBarrier(barrier: {
    expectedOffset: number;
    sourceClusterId: string;
    generation: number;
  }): Promise<void> {
    this.fault('appendBarrier');
    if (this.end !== barrier.expectedOffset)
      throw new Error(`barrier expected ${barrier.expectedOffset}, end ${this.end}`);
    this.marker(barrierId(barrier.sourceClusterId), barrier.generation);
    this.fault('appended');
  }

  #add(count: number, rest: Omit<StoredBatch, 'baseOffset' | 'lastOffset' | 'producerEpoch'>): this {
    const baseOffset = this.end;
    this.batches.push({ baseOffset, lastOffset: baseOffset + count - 1, producerEpoch: 0, ...rest });
    return this;
  }
}
