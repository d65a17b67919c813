import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Backoff } from '../../src/control/backoff.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { mirrorRecord, partitionRecord } from '../unit/src/control/support/records.ts';

// Own faults: which released ends count, who is granted what, and what a restart may try again.
let under: ControlUnderTest;
const epochs = [{ epoch: 0, offset: 0 }];

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

test('a released end still counts when its partition could not be handed out at once', async () => {
  await under.recorded([partitionRecord('MIRRORING', { epochs, persistedEnd: 5 })]);
  await under.store.write([{ put: { ...mirrorRecord, copier: 'external' } }]);
  under.store.released.set('orders/0', 5);
  const log = under.world.log('orders', 0).data(5, -7n);
  let asked = 0;
  log.fault = (request) => {
    if (request === 'readEnd' && (asked += 1) < 3) throw new Error('no leader just now');
  };
  under.start();
  await vi.waitFor(() =>
    expect(under.control.mirrorRole.grant('east-to-west', 'orders', 0)).toEqual({
      kind: 'owned',
      expectedOffset: 5,
    }),
  );
  expect(asked).toBe(3);
});

test('a partition that FAILED under an external copier is granted to nobody', async () => {
  await under.recorded([partitionRecord('MIRRORING')]);
  await under.store.write([{ put: { ...mirrorRecord, copier: 'external' } }]);
  under.start();
  const grant = () => under.control.mirrorRole.grant('east-to-west', 'orders', 0).kind;
  await vi.waitFor(() => expect(grant()).toBe('owned'));
  under.world.source.topics.clear();
  await under.untilState('FAILED');
  await vi.waitFor(() => expect(grant()).toBe('not-leader'));
});

test('retries that another process used up are made again after a restart', async () => {
  await under.recorded([
    partitionRecord('FAILED', {
      previousState: 'MIRRORING',
      retryAttempt: 20,
      errorMessage: 'no right',
      epochs,
    }),
  ]);
  under.start();
  await vi.waitFor(() => expect(under.world.links[0]?.resumes.has('orders/0')).toBe(true));
});

test('a clock that is set back makes nobody wait for hours', () => {
  const backoff = new Backoff(500, 60_000);
  const now = 1_000_000_000;
  backoff.failed('source', now);
  expect(backoff.isDue('source', now)).toBe(false);
  expect(backoff.isDue('source', now - 3_600_000)).toBe(true);
});
