import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type AppendSettled,
  type AppendUnclear,
  appendSettled,
  appendUnclear,
} from '../../src/observe/channels.ts';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

// Own fault: log lines and metrics of unclear appends stood ready, and nobody told them of any.
const PRODUCE = 0;
const ref = { topic: 't', partition: 0 };
let one: LinkUnderTest;
const unclear: AppendUnclear[] = [];
const settled: AppendSettled[] = [];
let ends: (() => void)[] = [];

beforeEach(() => {
  unclear.length = 0;
  settled.length = 0;
  ends = [
    appendUnclear.subscribe((event) => unclear.push(event)),
    appendSettled.subscribe((event) => settled.push(event)),
  ];
});
afterEach(async () => {
  for (const end of ends) end();
  await one.close();
});

test('a lost append is told, and how it was settled', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(4));
  one.destination.next(PRODUCE, { kind: 'cut', when: 'after' });
  one.add();
  await one.mirrored();
  expect(unclear).toMatchObject([{ mirror: 'm', ...ref, expectedOffset: 0, reason: expect.any(String) }]);
  expect(unclear[0]?.reason).not.toBe('');
  expect(settled).toMatchObject([{ mirror: 'm', ...ref, expectedOffset: 0, end: 4, by: 'look' }]);
  expect(settled[0]?.afterMs).toBeGreaterThanOrEqual(0);
});

test('a healthy append is nothing to tell', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(4));
  one.add();
  await one.mirrored();
  expect([...unclear, ...settled]).toEqual([]);
});

test('what an owner that was not released may have had on its way is told of as well', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(3));
  one.to().append(plainBatch(3));
  one.add(0, { released: false, persistedEnd: 0, epochs: [{ epoch: 0, offset: 0 }] });
  await until('it is recovered', () => one.progress().destinationEnd === 3);
  expect(unclear).toMatchObject([{ ...ref, expectedOffset: 0, reason: expect.stringMatching(/released/) }]);
  expect(settled).toMatchObject([{ ...ref, expectedOffset: 0, end: 3, by: 'probe' }]);
});
