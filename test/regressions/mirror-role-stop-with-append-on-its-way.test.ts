import { afterEach, describe, expect, test, vi } from 'vitest';
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
    under = new ControlUnderTest();
    await under.recorded([partitionRecord('MIRRORING')]);
    await under.store.write([{ put: { ...mirrorRecord, copier: 'external' } }]);
    under.start();
    await vi.waitFor(() => expect(copies().grant(mirror, 'orders', 0).kind).toBe('owned'));
    copies().begins(mirror, 'orders', 0);
    await under.ask('stop', { mirror, all: true });
    await vi.waitFor(() => expect(copies().grant(mirror, 'orders', 0).kind).toBe('not-leader'));
    await under.untilState('STOPPING');
    await under.after(2_000);
    expect(log().settles).toBe(0);
    expect(log().barriers()).toEqual([]);
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

  test('while the broker stays silent the stop waits, and says for what', async () => {
    await stopMeanwhile();
    await under.after(120_000);
    expect(under.record().state).toBe('STOPPING');
    expect(log().barriers()).toEqual([]);
    const [row] = under.control.rows([mirror]);
    expect(row?.errorMessage).toContain("has not answered the copier's Produce at offset 0");
    copies().notStored(mirror, 'orders', 0);
    await under.untilState('STOPPED');
  });
});
