import { afterEach, expect, test } from 'vitest';
import { ErrorCode } from '../../protocol/errors.ts';
import { judgeProduceReply } from '../../src/link/judge.ts';
import { decodeProduceReply } from '../../src/link/produce-request.ts';
import { encodeResponse } from '../../protocol/frame/messages.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { type LinkSetup, LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/** An operator who reads "no leader" looks at brokers; what is missing is a right. */
let one: LinkUnderTest | undefined;
async function start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(async () => {
  await one?.close();
  one = undefined;
});

test('markers refused for a missing right: FAILED with the right, after the log was read', async () => {
  const link = await start();
  link.from().append(plainBatch(2));
  link.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  link.destination.next(27, { kind: 'fail', code: ErrorCode.CLUSTER_AUTHORIZATION_FAILED }, { times: 1_000 });
  link.add();
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'authorization', offset: 2, retriable: true });
  expect(failure.message).toMatch(/cluster_?action/i);
  expect(link.to().end).toBe(2);
});

test.each(['source', 'destination'] as const)(
  'the %s tells nothing about the topic for a missing right: the error says which',
  async (side) => {
    const link = await start();
    const refused = link[side].next(
      3,
      { kind: 'fail', code: ErrorCode.TOPIC_AUTHORIZATION_FAILED },
      { times: 100_000 },
    );
    link.from().append(plainBatch(2));
    link.add();
    await until('the right is named', () =>
      /TOPIC_AUTHORIZATION_FAILED.*describe/i.test(link.progress().error ?? ''),
    );
    refused.cancel();
    await link.mirrored();
  },
);

test('the destination stamps batches with its own time: FAILED, for the bytes are no longer the same', () => {
  const reply = encodeResponse(produceApi, 9, 1, {
    responses: [
      {
        name: 't',
        partitionResponses: [{ index: 0, errorCode: 0, baseOffset: 5, logAppendTimeMs: 1_700_000_000_000n }],
      },
    ],
  });
  const [entry] = decodeProduceReply(9, reply.subarray(4));
  expect(entry).toMatchObject({ errorCode: 0, baseOffset: 5, stamped: true });
  const span = { kind: 'data', from: 5, to: 7 } as const;
  const verdict = judgeProduceReply({ topic: 't', partition: 0 }, span, 0, 5, null, entry?.stamped);
  expect(verdict).toMatchObject({ kind: 'failed', failure: { code: 'refused-by-broker', offset: 5 } });
  if (verdict.kind === 'failed')
    expect(verdict.failure.message).toMatch(/message\.timestamp\.type=CreateTime/);
});
