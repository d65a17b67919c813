import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { type LinkSetup, LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/** Rule 9 compares the stored tail with the source before the first append. Waiting for a source must end or say why. */
let one: LinkUnderTest;
async function start(setup: LinkSetup = {}): Promise<LinkUnderTest> {
  one = await LinkUnderTest.start(setup);
  return one;
}
afterEach(() => one.close());

const FETCH = 1;
const EPOCHS = [{ epoch: 0, offset: 0 }];

test('partitions whose source is away keep no other from being compared', async () => {
  const count = 8;
  const topics = [{ name: 't', partitions: count }];
  const link = await start({ source: { topics }, destination: { topics } });
  for (let p = 0; p < count; p += 1) {
    link.from(p).append(plainBatch(3));
    link.to(p).append(plainBatch(3));
    if (p < count - 1) link.source.setLeader('t', p, -1);
  }
  for (let p = 0; p < count; p += 1) link.add(p, { released: false, epochs: EPOCHS });
  await until('the last one is mirrored', () => link.progress(count - 1).phase === 'mirroring');
  expect(link.progress(0)).toMatchObject({ phase: 'recovering' });
  for (let p = 0; p < count - 1; p += 1) {
    await until('each says what it waits for', () => /no leader on east/.test(link.progress(p).error ?? ''));
  }
  for (let p = 0; p < count - 1; p += 1) link.source.setLeader('t', p, 1);
  for (let p = 0; p < count; p += 1) await link.mirrored(p);
});

test('the source lost what the destination holds: FAILED, not waited for', async () => {
  const link = await start();
  for (let i = 0; i < 3; i += 1) link.from().append(plainBatch(3));
  link.add();
  await link.mirrored();
  await link.link.close();
  link.from().truncate(6);
  link.from().newLeaderEpoch();
  const second = link.another();
  second.add({ topic: 't', partition: 0 }, link.resume({ persistedEnd: 3, released: false, epochs: EPOCHS }));
  expect(await link.failed()).toMatchObject({ code: 'diverged', offset: 6, retriable: false });
  await second.close();
});

test('the source ends below what was persisted, epoch unknown: FAILED, not waited for', async () => {
  const link = await start();
  for (let i = 0; i < 3; i += 1) link.from().append(plainBatch(3));
  link.add();
  await link.mirrored();
  await link.link.close();
  link.from().truncate(3);
  link.from().newLeaderEpoch();
  const second = link.another();
  second.add({ topic: 't', partition: 0 }, link.resume({ persistedEnd: 6, released: false, epochs: [] }));
  expect(await link.failed()).toMatchObject({ code: 'diverged', offset: 3 });
  await second.close();
});

test('undecided at the source is waited for', async () => {
  const link = await start();
  link.from().append(plainBatch(3));
  link.from().append(plainBatch(2, { producerId: 1n, producerEpoch: 0, transactional: true }));
  link.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  link.add();
  await link.mirrored();
  await link.link.close();
  link.from().holdHighWatermark(3);
  const second = link.another();
  const ref = { topic: 't', partition: 0 };
  second.add(ref, link.resume({ persistedEnd: 0, released: false, epochs: EPOCHS }));
  await until('it says so', () => /has decided up to 3/.test(second.progress(ref)?.error ?? ''));
  const asked = link.source.requestsOf(FETCH).length;
  await until('it has asked again and again', () => link.source.requestsOf(FETCH).length > asked + 5);
  expect(link.failures).toEqual([]);
  expect(second.progress(ref)?.phase).toBe('recovering');
  link.from().releaseHighWatermark();
  await until('it goes on', () => second.progress(ref)?.phase === 'mirroring');
  await second.close();
});

test('a marker that was damaged on the way is read again', async () => {
  const link = await start();
  link.from().append(plainBatch(3));
  link.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  link.add();
  await link.mirrored();
  await link.link.close();
  const bytes = link.from().batches[1]?.bytes as Buffer;
  bytes[70] = (bytes[70] as number) ^ 1;
  const second = link.another();
  const ref = { topic: 't', partition: 0 };
  second.add(ref, link.resume({ persistedEnd: 0, released: false, epochs: EPOCHS }));
  await until('the damage shows', () => /CRC/.test(second.progress(ref)?.error ?? ''));
  bytes[70] = (bytes[70] as number) ^ 1;
  await until('it goes on', () => second.progress(ref)?.phase === 'mirroring');
  expect(link.failures).toEqual([]);
  await second.close();
});
