import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * M9 at a source before Kafka 3.1: its Fetch knows no topic ids, so a topic that was deleted and made again under the
 * same name answers as if nothing had happened, offset and leader epoch included.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const versions = { 1: [4, 12] } as const;

test('Fetch by name is trusted only with the topic id told behind it', async () => {
  const topics = [{ name: 't', partitions: 1 }];
  one = await LinkUnderTest.start({ source: { topics, versions } });
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  one.source.state.addTopic({ name: 't', topicId: 'AAAAAAAAAAAAAAAAAAAABA' });
  for (let i = 0; i < 5; i += 1) one.from().append(plainBatch(4));
  expect(await one.failed()).toMatchObject({ code: 'topic-recreated' });
  expect(one.to().end).toBe(4);
});

test('such a source is mirrored', async () => {
  const topics = [{ name: 't', partitions: 3 }];
  one = await LinkUnderTest.start({ source: { brokers: 2, topics, versions }, destination: { topics } });
  for (let p = 0; p < 3; p += 1) {
    for (let i = 0; i < 5; i += 1) one.from(p).append(plainBatch(4));
    one.add(p);
  }
  for (let p = 0; p < 3; p += 1) await one.mirrored(p);
  one.source.setLeader('t', 0, 2);
  one.from(0).append(plainBatch(4));
  for (let p = 0; p < 3; p += 1) await one.mirrored(p);
  for (let p = 0; p < 3; p += 1) one.expectEqual(p);
});
