import { afterEach, expect, test } from 'vitest';
import { ErrorCode } from '../../protocol/errors.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * Strimzi 11037: one batch above the destination's limit stopped a whole task and nothing said why. Only its own
 * partition stops, with offset, size and the setting to change.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

test('a batch that is too large for good stops its partition alone', async () => {
  const topics = [{ name: 't', partitions: 2 }];
  link = await LinkUnderTest.start({ source: { topics }, destination: { topics } });
  link.destination.next(0, { kind: 'fail', code: ErrorCode.MESSAGE_TOO_LARGE });
  link.from(0).append(plainBatch(3));
  link.add(0);
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'refused-by-broker', offset: 0, retriable: true });
  expect(failure.message).toMatch(/t-0.*offset 0 has \d+ bytes.*max\.message\.bytes/);
  expect(link.progress(0)).toMatchObject({ phase: 'ended', error: failure.message });

  link.failures.length = 0;
  link.from(1).append(plainBatch(3));
  link.add(1);
  await link.mirrored(1);
  link.expectEqual(1);
});

test('the limit is raised once, and the batch passes', async () => {
  const raised: [string, number][] = [];
  link = await LinkUnderTest.start({
    hooks: {
      raiseMaxMessageBytes: async (topic, bytes) => {
        raised.push([topic, bytes]);
      },
    },
  });
  link.destination.next(0, { kind: 'fail', code: ErrorCode.MESSAGE_TOO_LARGE });
  link.from().append(plainBatch(3));
  link.add();
  await link.mirrored();
  expect(raised).toEqual([['t', link.from().batches[0]?.bytes.length]]);
});
