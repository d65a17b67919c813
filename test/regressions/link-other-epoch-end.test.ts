import { afterEach, expect, test } from 'vitest';
import { offsetForLeaderEpoch } from '../fake-broker/api/23-offset-for-leader-epoch.ts';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import type { Handler } from '../fake-broker/registry.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * OffsetForLeaderEpoch gives where an epoch ends. Only for the epoch that was asked for, the current one, is that the
 * end of the log: an answer about an older epoch is some offset in the middle.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const INT64 = 8;

/** Answers about epoch 0, which ended at 2, whatever was asked. */
function olderEpoch(): { api: Handler; on: boolean } {
  const control = { on: false, api: offsetForLeaderEpoch };
  control.api = {
    ...offsetForLeaderEpoch,
    async handle(input, output, context) {
      const reply = await offsetForLeaderEpoch.handle(input, output, context);
      if (!control.on || reply.body === null) return reply;
      // one topic, one partition: code, index, epoch, end and three empty tag sections at the end
      const bytes = reply.body.done();
      const endAt = bytes.length - 3 - INT64;
      bytes.writeInt32BE(0, endAt - 4);
      bytes.writeBigInt64BE(2n, endAt);
      return { body: { done: () => bytes } as typeof reply.body };
    },
  };
  return control;
}

test('the end of an older epoch is not taken for the end of the log', async () => {
  const older = olderEpoch();
  one = await LinkUnderTest.start({ destination: { apis: { 23: older.api } } });
  one.from().append(plainBatch(2));
  one.add();
  await one.mirrored();
  one.to().newLeaderEpoch();
  one.from().append(plainBatch(3));
  await one.mirrored();
  older.on = true;
  one.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  await until('it says so', () => /epoch 0/.test(one.progress().error ?? ''));
  expect(one.failures).toEqual([]);
  older.on = false;
  await one.mirrored();
  one.expectEqual();
});
