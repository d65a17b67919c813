import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import type { Handler } from '../fake-broker/registry.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * Own fault, found by reading: a broker that came back with less than it had acknowledged got the next batch over the
 * new connection before anybody asked which leader epoch this is. The batch stood at an offset that was not its own.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

test('the end is read before the first append over a new connection', async () => {
  one = await LinkUnderTest.start({ settings: { endWatchMs: 60_000 } });
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  await one.destination.stopNode(1);
  one.to().truncate(3);
  one.to().newLeaderEpoch();
  await one.destination.startNode(1);
  one.from().append(plainBatch(2));
  await until('all is there', () => one.to().end === 9);
  await one.mirrored();
  expect(one.failures).toEqual([]);
  one.expectEqual();
});

/** DescribeConfigs 0: this is all that the broker reads at once. */
function reads(bytes: number): Handler {
  return {
    versions: [0, 0],
    flexibleFrom: 4,
    handle(_, output) {
      output.i32(0).list([null], () => {
        output.i16(0).str(null).i8(4).str('1');
        output.list([null], () => {
          const [readOnly, isDefault, isSensitive] = [false, false, false];
          output.str('socket.request.max.bytes').str(String(bytes));
          output.bool(readOnly).bool(isDefault).bool(isSensitive);
        });
      });
      return { body: output };
    },
  };
}

test('a broker that reads little at once gets requests that it reads', async () => {
  one = await LinkUnderTest.start({ destination: { apis: { 32: reads(2_000) } } });
  for (let i = 0; i < 4; i += 1) one.from().append(plainBatch(3));
  // a run of markers, in several requests
  one.from().append(plainBatch(90, { producerId: 5n, producerEpoch: 0, transactional: true }));
  one.from().append(makeMarker({ producerId: 5n, producerEpoch: 0, commit: false, coordinatorEpoch: 0 }));
  one.add();
  await one.mirrored();
  expect(one.destination.requests.every(({ frame }) => frame.length <= 2_000)).toBe(true);
  one.from().append(plainBatch(400));
  const failure = await one.failed();
  expect(failure).toMatchObject({ code: 'refused-by-broker', retriable: true });
  expect(failure.message).toMatch(/broker 1, whose socket\.request\.max\.bytes is 2000/);
});
