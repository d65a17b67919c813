import { describe, expect, it } from 'vitest';
import { encodeRequest } from '../../../../protocol/frame/messages.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { fillerId } from '../../../../protocol/records/ids.ts';
import { produceApi } from '../../../../protocol/schema/00-produce.ts';
import { writeTxnMarkersApi } from '../../../../protocol/schema/27-write-txn-markers.ts';
import type { SeenRequest } from '../../../harness/frame-proxy.ts';
import { readMarkers, readProduce } from '../../../soak/append-frames.ts';
import { killOf, planKills } from '../../../soak/kill-plan.ts';

function seen(apiKey: number, apiVersion: number, sized: Buffer): SeenRequest {
  return { apiKey, apiVersion, correlationId: 1, target: 0, frame: Buffer.from(sized.subarray(4)) };
}

const real = buildBatch({ records: [{ value: Buffer.from('a') }, { value: Buffer.from('b') }] });
const doomed = buildBatch({ records: [{ value: null }], lastOffsetDelta: 5 });

describe('frames that the soak counts', () => {
  for (const version of [3, 8, 9, 12, 13]) {
    it(`reads the partitions of a Produce of version ${version}, a probe told from an append`, () => {
      const partitionData = [
        { index: 0, records: real },
        { index: 7, records: doomed },
      ];
      const topic =
        version >= 13
          ? { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', partitionData }
          : { name: 'orders', partitionData };
      const body = { transactionalId: null, acks: -1, timeoutMs: 1, topicData: [topic] };
      const name = version >= 13 ? '00000000000000000000000000000001' : 'orders';
      expect(readProduce(seen(0, version, encodeRequest(produceApi, version, 1, 'soak', body)))).toEqual([
        { topic: name, partition: 0, doomed: false },
        { topic: name, partition: 7, doomed: true },
      ]);
    });
  }

  for (const version of [0, 1, 2]) {
    it(`reads the runs of a WriteTxnMarkers of version ${version}`, () => {
      const marker = (producerId: bigint, partitionIndexes: number[]) => ({
        producerId,
        producerEpoch: 0,
        transactionResult: true,
        topics: [{ name: 'orders', partitionIndexes }],
        coordinatorEpoch: 0,
      });
      const markers = [marker(fillerId(41), [0, 3]), marker(fillerId(42), [0]), marker(-9n, [0, 5])];
      const frame = encodeRequest(writeTxnMarkersApi, version, 1, 'soak', { markers });
      expect(readMarkers(seen(27, version, frame))).toEqual([
        { topic: 'orders', partition: 0, markers: 3, first: 41, last: 42 },
        { topic: 'orders', partition: 3, markers: 1, first: 41, last: 41 },
        { topic: 'orders', partition: 5, markers: 1, first: -1, last: -1 },
      ]);
    });
  }

  it('plans 200 kills the same way twice, with the shares that are demanded', () => {
    const plan = planKills(5, 200);
    expect(plan).toEqual(planKills(5, 200));
    expect(plan).not.toEqual(planKills(6, 200));
    expect(plan).toHaveLength(200);
    expect(plan[17]).toEqual(killOf(5, 18, plan[17]?.kind ?? 'random'));
    const count = (...kinds: string[]): number => plan.filter(({ kind }) => kinds.includes(kind)).length;
    expect(count('produce', 'replied', 'late', 'markers', 'run', 'frozen')).toBeGreaterThanOrEqual(100);
    expect(count('run', 'frozen')).toBeGreaterThanOrEqual(20);
    expect(count('recovery')).toBeGreaterThan(10);
  });

  it('keeps the shares in a short plan', () => {
    expect(planKills(1, 10)).toHaveLength(10);
    expect(planKills(1, 1)).toHaveLength(1);
  });
});
