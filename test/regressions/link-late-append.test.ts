import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * No probe proves that a lost append is dead: one held in a request thread can land behind it. When it lands before it
 * is sent again, what stands there is what would have been sent, so it is taken, not doubled.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

const PRODUCE = 0;
const FETCH = 1;
const METADATA = 3;
const MARKERS = 27;

/** The pause between "nothing was appended" and sending it again ends with a refresh on the oldest connection. */
const isRefresh = ({ connection }: { connection: number }): boolean => connection === 1;

test('a batch that lands between the probe and the second try', async () => {
  one = await LinkUnderTest.start();
  const lost = one.destination.next(PRODUCE, { kind: 'cut', when: 'before' });
  one.from().append(plainBatch(3));
  one.from().append(plainBatch(2));
  one.add();
  await lost.met;
  const pause = one.destination.next(METADATA, { kind: 'hold', when: 'before' }, { when: isRefresh });
  await pause.met;
  one.to().append(one.from().batches[0]?.bytes as Buffer);
  pause.release();
  await one.mirrored();
  one.expectEqual();
  expect(one.progress().counts.dataBatches).toBe(2);
});

test('markers that land between the probe and the second try', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(4, { producerId: 1n, producerEpoch: 0, transactional: true }));
  one.from().append(makeMarker({ producerId: 1n, producerEpoch: 0, commit: false, coordinatorEpoch: 0 }));
  const lost = one.destination.next(MARKERS, { kind: 'cut', when: 'before' });
  one.add();
  await lost.met;
  const pause = one.destination.next(METADATA, { kind: 'hold', when: 'before' }, { when: isRefresh });
  await pause.met;
  for (let offset = 0; offset < 3; offset += 1) {
    const producerId = -(2n ** 61n) - BigInt(offset);
    one.to().append(makeMarker({ producerId, producerEpoch: 0, commit: true, coordinatorEpoch: 0 }));
  }
  pause.release();
  await one.mirrored();
  one.expectEqual();
});

test("what landed can't be read at first: it is not appended beside it", async () => {
  one = await LinkUnderTest.start();
  const lost = one.destination.next(PRODUCE, { kind: 'cut', when: 'before' });
  one.from().append(plainBatch(3));
  one.add();
  await lost.met;
  const pause = one.destination.next(METADATA, { kind: 'hold', when: 'before' }, { when: isRefresh });
  await pause.met;
  one.to().append(one.from().batches[0]?.bytes as Buffer);
  one.destination.next(FETCH, { kind: 'cut', when: 'before' }, { times: 3 });
  pause.release();
  await one.mirrored();
  one.expectEqual();
});

test('something else lands there: FAILED, both ranges named', async () => {
  one = await LinkUnderTest.start();
  const lost = one.destination.next(PRODUCE, { kind: 'cut', when: 'before' });
  one.from().append(plainBatch(3));
  one.add();
  await lost.met;
  const pause = one.destination.next(METADATA, { kind: 'hold', when: 'before' }, { when: isRefresh });
  await pause.met;
  one.to().append(plainBatch(3, { producerId: -9n }));
  pause.release();
  const failure = await one.failed();
  expect(failure).toMatchObject({ code: 'foreign-write', offset: 0 });
  expect(failure.message).toMatch(/0\.\.2/);
  expect(one.to().end).toBe(3);
});
