import { afterEach, describe, expect, test, vi } from 'vitest';
import { partitionStateChanged } from '../../src/observe/channels.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { mirrorRecord, partitionRecord } from '../unit/src/control/support/records.ts';

// A copier's Produce waited in the broker behind another one while its mirror was stopped: the end was read and probed,
// the barrier written, and then the batch landed behind the barrier, where only local records may stand.
describe('stopping a mirror with an external copier whose Produce is on its way', () => {
  const mirror = 'east-to-west';
  let under: ControlUnderTest;
  const log = () => under.world.log('orders', 0);
  const copies = () => under.control.mirrorRole;

  /** Stops the mirror between the sending of a Produce and its answer. */
  async function stopMeanwhile(): Promise<void> {
    await stopAfterSilenceOf(FOR_EVER);
    await under.untilState('STOPPING');
    await under.after(2_000);
    expect(log().settles).toBe(0);
    expect(log().barriers()).toEqual([]);
  }

  async function stopAfterSilenceOf(ms: number): Promise<void> {
    under = new ControlUnderTest();
    under.world.silences.set(mirror, ms);
    const sleep = under.world.sleep.bind(under.world);
    under.world.sleep = (asked, signal) => (asked === FOR_EVER ? ended(signal) : sleep(asked, signal));
    await under.recorded([partitionRecord('MIRRORING')]);
    await under.store.write([{ put: { ...mirrorRecord, copier: 'external' } }]);
    under.start();
    await vi.waitFor(() => expect(copies().grant(mirror, 'orders', 0).kind).toBe('owned'));
    copies().begins(mirror, 'orders', 0);
    await under.ask('stop', { mirror, all: true });
    await vi.waitFor(() => expect(copies().grant(mirror, 'orders', 0).kind).toBe('not-leader'));
  }
  afterEach(() => under.close());

  test('its answer is waited for, and what it stored stands before the barrier', async () => {
    await stopMeanwhile();
    log().data(5, -7n);
    copies().appended(mirror, 'orders', 0, 0, 5);
    await under.untilState('STOPPED');
    expect(log().barriers()).toEqual([5]);
    expect(under.record().report?.unverified).toEqual([]);
  });

  test('a certain refusal ends it as well', async () => {
    await stopMeanwhile();
    copies().notStored(mirror, 'orders', 0);
    await under.untilState('STOPPED');
    expect(log().barriers()).toEqual([0]);
  });

  test('an unclear outcome is settled by the stop itself: it is probed, judged and told', async () => {
    await stopMeanwhile();
    log().data(5, -7n);
    copies().failed(mirror, 'orders', 0, 'the connection ended');
    await under.untilState('STOPPED');
    expect(log().settles).toBeGreaterThan(0);
    expect(log().barriers()).toEqual([5]);
  });

  test('a broker that stays silent: FAILED naming it, then settled like an append that was lost', async () => {
    const failures: string[] = [];
    const end = partitionStateChanged.subscribe(({ to, error }) => {
      if (to === 'FAILED') failures.push(error ?? '');
    });
    await stopAfterSilenceOf(60_000);
    await under.untilState('STOPPED');
    end();
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(
      /broker 1 of west has not answered the copier's Produce at offset 0 for 60 s; wait for the broker/,
    );
    expect(log().settles).toBeGreaterThan(0);
    expect(log().barriers()).toEqual([0]);
    // the answer that comes then changes nothing
    copies().appended(mirror, 'orders', 0, 0, 5);
    expect(under.record().state).toBe('STOPPED');
  });
});

/** The fakes' clock runs as fast as anybody sleeps: this is waited for by nobody. */
const FOR_EVER = 10 ** 9;

function ended(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('no longer waited for')), { once: true });
  });
}

test('an end with an append on its way is not released', async () => {
  const under = new ControlUnderTest();
  await under.recorded([partitionRecord('MIRRORING'), partitionRecord('MIRRORING', { partition: 1 })]);
  await under.store.write([{ put: { ...mirrorRecord, copier: 'external' } }]);
  under.start();
  const copies = under.control.mirrorRole;
  const { name } = mirrorRecord;
  await vi.waitFor(() => {
    for (const partition of [0, 1]) {
      if (copies.grant(name, 'orders', partition).kind !== 'owned') throw new Error('not granted yet');
    }
  });
  for (const partition of [0, 1]) copies.begins(name, 'orders', partition);
  copies.appended(name, 'orders', 1, 0, 5);
  await under.close();
  expect([...(under.store.closedWith ?? [])]).toEqual([['orders/1', 5]]);
});
