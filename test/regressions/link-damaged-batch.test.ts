import { afterEach, describe, expect, test } from 'vitest';
import { buildBatch } from '../../protocol/records/build.ts';
import { transform } from '../../src/link/transform.ts';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * The destination broker checks the CRC of each data batch, so damage on the way shows there. What becomes markers is
 * never sent as bytes: there the link is the last that can see it. A flipped bit in the producer id would turn a
 * committed batch into "aborted" and drop its records without a word.
 */
const ref = { topic: 't', partition: 0 };
const ID_AT = 43;

describe('a batch that would become markers', () => {
  const batch = (producerId: bigint) =>
    buildBatch({
      records: [
        { value: 'a', timestamp: 1n },
        { value: 'b', timestamp: 1n },
      ],
      producerId,
      producerEpoch: 0,
      baseSequence: 0,
      transactional: true,
      partitionLeaderEpoch: 0,
    });
  const aborted = [{ producerId: 7n, firstOffset: 0 }];

  test('of an aborted transaction, undamaged: inert', () => {
    const done = transform(ref, { records: batch(7n), aborted, next: 0, frame: null });
    expect(done).toMatchObject({ failure: null, pieces: [{ kind: 'inert', offset: 0, next: 2 }] });
  });

  test('looks aborted only because its id is damaged: refused, not dropped', () => {
    const records = batch(3n);
    records.writeBigInt64BE(7n, ID_AT);
    const done = transform(ref, { records, aborted, next: 0, frame: null });
    expect(done.pieces).toEqual([]);
    expect(done.failure).toMatchObject({ code: 'bad-batch', offset: 0 });
    expect(done.failure?.message).toMatch(/CRC/);
  });
});

describe('on the way', () => {
  let one: LinkUnderTest;
  afterEach(() => one.close());

  /** An aborted transaction at 0..2 with its marker at 3, a plain batch behind. */
  async function withAborted(): Promise<Buffer> {
    one = await LinkUnderTest.start();
    const spec = { producerId: 7n, producerEpoch: 0 };
    one.from().append(plainBatch(3, { ...spec, transactional: true }));
    one.from().append(makeMarker({ ...spec, commit: false, coordinatorEpoch: 1 }));
    one.from().append(plainBatch(2));
    return one.from().batches[0]?.bytes as Buffer;
  }

  test('damaged once: fetched again, then it goes on', async () => {
    const bytes = await withAborted();
    bytes[70] = (bytes[70] as number) ^ 1;
    one.add();
    await until('the damage shows', () => /CRC/.test(one.progress().error ?? ''));
    bytes[70] = (bytes[70] as number) ^ 1;
    await one.mirrored();
    expect(one.failures).toEqual([]);
    one.expectEqual();
  });

  test('damaged for good: FAILED with the offset after new fetches', async () => {
    const bytes = await withAborted();
    bytes[70] = (bytes[70] as number) ^ 1;
    one.add();
    expect(await one.failed()).toMatchObject({ code: 'bad-batch', offset: 0, retriable: false });
    expect(one.to().end).toBe(0);
  });
});
