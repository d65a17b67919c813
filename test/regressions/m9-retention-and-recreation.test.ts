import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * Kafka pull request 22248: while a mirror was away, retention deleted what it had not copied, or the topic was
 * deleted and made anew; both ended in a silent gap.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

const OTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAg';

async function startMirrored(batches: number): Promise<void> {
  link = await LinkUnderTest.start();
  for (let i = 0; i < batches; i += 1) link.from().append(plainBatch(3));
  link.add();
  await link.mirrored();
}

test('retention overtook the mirror: FAILED, the lost range named, nothing written behind it', async () => {
  await startMirrored(1);
  await link.source.stopNode(1);
  for (let i = 0; i < 4; i += 1) link.from().append(plainBatch(3));
  link.from().logStart = 9;
  await link.source.startNode(1);
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'retention-overtook', offset: 3, retriable: false });
  expect(failure.message).toContain('3..8');
  expect(link.to().end).toBe(3);
});

test('the source topic is another one of the same name: FAILED before a byte is read', async () => {
  link = await LinkUnderTest.start();
  link.add(0, { sourceTopicId: OTHER_ID });
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'topic-recreated', retriable: false });
  expect(failure.message).toContain('east');
});

test('the source topic is made anew while it is mirrored: FAILED, nothing of the new one is written', async () => {
  await startMirrored(4);
  link.source.addTopic({ name: 't', topicId: OTHER_ID });
  for (let i = 0; i < 9; i += 1) link.from().append(plainBatch(3));
  expect(await link.failed()).toMatchObject({ code: 'topic-recreated' });
  expect(link.to().end).toBe(12);
});

test('the destination topic is another one of the same name: nothing is written', async () => {
  link = await LinkUnderTest.start();
  link.from().append(plainBatch(3));
  link.add(0, { destinationTopicId: OTHER_ID });
  const failure = await link.failed();
  expect(failure).toMatchObject({ code: 'topic-recreated', retriable: false });
  expect(failure.message).toContain('west');
  expect(link.to().end).toBe(0);
});

test('the destination topic is made anew while it is mirrored: nothing is written to the new one', async () => {
  await startMirrored(1);
  link.destination.addTopic({ name: 't', topicId: OTHER_ID });
  link.from().append(plainBatch(3));
  expect(await link.failed()).toMatchObject({ code: 'topic-recreated' });
  expect(link.to().end).toBe(0);
});
