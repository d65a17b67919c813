import { afterEach, expect, test } from 'vitest';
import { ErrorCode } from '../../protocol/errors.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/** `max.message.bytes` belongs to the topic: what one partition needs must not be lowered for another. */
let one: LinkUnderTest;
afterEach(() => one.close());

test('two partitions raise the limit of their topic: it never goes down', async () => {
  const topics = [{ name: 't', partitions: 2 }];
  const raised: number[] = [];
  one = await LinkUnderTest.start({
    source: { topics },
    destination: { brokers: 2, topics },
    hooks: { raiseMaxMessageBytes: async (_, bytes) => void raised.push(bytes) },
  });
  const refuse = { kind: 'fail', code: ErrorCode.MESSAGE_TOO_LARGE } as const;
  one.destination.next(0, refuse, { node: 1 });
  one.destination.next(0, refuse, { node: 2 });
  one.from(0).append(plainBatch(500));
  one.from(1).append(plainBatch(5));
  one.add(0);
  await until('the first is raised', () => raised.length === 1);
  one.add(1);
  await one.mirrored(0);
  await one.mirrored(1);
  expect(raised).toHaveLength(2);
  expect(raised[1]).toBeGreaterThanOrEqual(raised[0] as number);
});
