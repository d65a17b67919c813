import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { until } from '../harness/until.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';

// Own fault: a mirror that was carried on from a shorter log kept its old end in state until it was passed: what was
// appended below it was never compared by a later owner, and a failover meanwhile said nothing of the loss.
let under: ControlUnderTest;
const orders = { topic: 'orders', partition: 0 };

beforeEach(async () => {
  under = new ControlUnderTest();
  under.world.source.add('orders', 1);
  under.start();
  await under.ask('create', { mirror: 'm', topics: ['orders'], options: { source: 'east', start: true } });
  await until('there is a link', () => under.world.links.length === 1);
  await under.world.link.mirrored(orders, 10);
  await until('its end is on record', () => under.record().persistedEnd === 10);
  const lost = { from: 4, to: 10 };
  under.world.link.moveTo(orders, { destinationEnd: 4, lost, openIds: [-9n] });
  await under.world.link.hooks.rewound?.(orders, lost, [-9n]);
});
afterEach(() => under.close());

test('the shorter end is on record before the link goes on', () => {
  expect(under.record()).toMatchObject({
    state: 'MIRRORING',
    persistedEnd: 4,
    lastMirrored: { offset: 3, sourceEpoch: 0 },
    openIds: [-9n],
    unverified: [{ from: 4, to: 10 }],
  });
});

test('when it is mirrored again nothing is left of it', async () => {
  under.world.link.moveTo(orders, { destinationEnd: 7 });
  await vi.waitFor(() =>
    expect(under.record()).toMatchObject({ persistedEnd: 7, unverified: [{ from: 7 }] }),
  );
  under.world.link.moveTo(orders, { destinationEnd: 12, lost: null });
  await vi.waitFor(() => expect(under.record()).toMatchObject({ persistedEnd: 12, unverified: [] }));
});

test('a stop before that names what was lost', async () => {
  under.world.log('orders', 0).data(6, -1n);
  under.world.link.moveTo(orders, { destinationEnd: 6 });
  await under.ask('stop', { mirror: 'm', all: true });
  await under.untilState('STOPPED');
  expect(under.record().report).toMatchObject({ lastMirrored: 5, unverified: [{ from: 6, to: 10 }] });
  expect(under.record().report?.unverified[0]?.why).toContain('lost');
});

test('a loss that the link has found and not written down when it is stopped', async () => {
  under.world.log('orders', 0).data(4, -1n);
  under.world.link.moveTo(orders, { destinationEnd: 4, lost: { from: 4, to: 12 } });
  await under.ask('stop', { mirror: 'm', all: true });
  await under.untilState('STOPPED');
  expect(under.record().report).toMatchObject({ lastMirrored: 3, unverified: [{ from: 4, to: 12 }] });
});
