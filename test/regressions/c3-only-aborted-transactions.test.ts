import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * kafkajs 1256: a fetch that holds only control batches, or only aborted ones, made no progress. A mirror of nothing
 * but aborted transactions must move on, and so must what it tells about its position.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

test('ten thousand aborted transactions in a row: position and lag move on, and the record behind them arrives', async () => {
  const TRANSACTIONS = 10_000;
  link = await LinkUnderTest.start({ settings: { fetchMaxBytes: 256 * 1024 } });
  for (let i = 0; i < TRANSACTIONS; i += 1) {
    const id = { producerId: BigInt(i % 5), producerEpoch: 0 };
    link.from().append(plainBatch(1, { ...id, transactional: true }));
    link.from().append(makeMarker({ ...id, commit: false, coordinatorEpoch: 1 }));
  }
  link.from().append(plainBatch(1));
  link.add();
  const seen = new Set<number>();
  await until(
    'all offsets stand',
    () => seen.add(link.progress().destinationEnd) && link.to().end === link.from().end,
    {
      everyMs: 2,
    },
  );
  await link.mirrored();
  expect(seen.size).toBeGreaterThan(3);
  expect(link.progress().counts).toMatchObject({ inertMarkers: 2 * TRANSACTIONS, dataBatches: 1 });
  link.expectEqual();
});
