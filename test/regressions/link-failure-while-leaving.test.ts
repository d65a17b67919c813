import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/** An end is released to the next owner as exact: it must not come from a partition that failed on its way out. */
let one: LinkUnderTest;
afterEach(() => one.close());

const ref = { topic: 't', partition: 0 };

/** A partition whose append in progress turns out to be damaged: someone else wrote before it. */
async function failing(): Promise<{ release(): void }> {
  one = await LinkUnderTest.start();
  const held = one.destination.next(0, { kind: 'hold', when: 'before' });
  one.from().append(plainBatch(2));
  one.add();
  await held.met;
  one.to().append(plainBatch(1));
  return held;
}

test('a removal gives no end', async () => {
  const held = await failing();
  const leaving = one.link.remove(ref, { silenceMs: 5_000 });
  held.release();
  expect(await leaving).toMatchObject({ end: null, inProgress: false });
  expect(one.failures).toHaveLength(1);
});

test('a close has no end of it', async () => {
  const held = await failing();
  const closing = one.link.close({ silenceMs: 5_000 });
  held.release();
  expect([...(await closing)]).toEqual([]);
});

test('two removals at once both end', async () => {
  one = await LinkUnderTest.start();
  const held = one.destination.next(0, { kind: 'hold', when: 'before' });
  one.from().append(plainBatch(2));
  one.add();
  await held.met;
  const both = [one.link.remove(ref, { silenceMs: 100 }), one.link.remove(ref, { silenceMs: 60_000 })];
  const results = await Promise.race([
    Promise.allSettled(both),
    new Promise<string>((resolve) => setTimeout(() => resolve('still waiting'), 30_000)),
  ]);
  // neither may call the end exact
  expect(results).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  held.release();
});

test('a hook that throws costs nobody the connection', async () => {
  const topics = [{ name: 't', partitions: 2 }];
  one = await LinkUnderTest.start({
    source: { topics },
    destination: { topics },
    hooks: {
      failed: () => {
        throw new Error('the state topic is gone');
      },
    },
  });
  const held = one.destination.next(0, { kind: 'hold', when: 'before' });
  one.from(0).append(plainBatch(2));
  one.add(0);
  await held.met;
  one.to(0).append(plainBatch(1));
  held.release();
  await until('the failed partition shows it', () => one.progress(0).phase === 'ended');
  one.from(1).append(plainBatch(2));
  one.add(1);
  await one.mirrored(1);
  one.expectEqual(1);
});
