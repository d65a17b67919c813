import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * A length field damaged at the source makes a batch look cut off for ever. A reader that just asks again does so
 * thousands of times a second and says nothing.
 */
let one: LinkUnderTest;
afterEach(() => one.close());

test('a source batch that never comes whole: the error names the offset, and asking again is not a storm', async () => {
  one = await LinkUnderTest.start();
  one.from().append(plainBatch(2));
  one.from().append(plainBatch(3));
  one.from().batches[1]?.bytes.writeInt32BE(0x7fff_fff0, 8);
  one.add();
  await until('what stands before it is mirrored', () => one.progress().destinationEnd === 2);
  await until('the error names it', () => /offset 2.*whole/.test(one.progress().error ?? ''));
  // how long a fixed number of requests takes: on a busy machine longer, never shorter
  const before = one.source.requestsOf(1).length;
  const begun = performance.now();
  await until('it has asked some more times', () => one.source.requestsOf(1).length >= before + 10);
  expect(performance.now() - begun).toBeGreaterThan(150);
});
