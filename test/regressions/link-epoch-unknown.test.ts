import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * "No epoch in state" means "nothing was ever appended", and then no probe is made at the next start. So the first
 * append must be announced also when the source's batches carry no leader epoch (-1).
 */
let one: LinkUnderTest;
afterEach(() => one.close());

test('batches without a leader epoch are announced before the first append', async () => {
  const order: string[] = [];
  one = await LinkUnderTest.start({
    hooks: {
      epochBegins: async (_, start) => {
        order.push(`epoch ${start.epoch} at ${start.offset}, end ${one.to().end}`);
      },
    },
  });
  const [first] = one.from().epochs;
  if (first !== undefined) first.epoch = -1;
  one.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  one.from().append(plainBatch(2));
  one.add();
  await one.mirrored();
  one.expectEqual();
  expect(order).toEqual(['epoch -1 at 0, end 0']);
});
