import { expect, test, vi } from 'vitest';
import type { StateChange } from '../../src/control/state/types.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// The records of one decision lie in several state partitions, each with a transaction of its own, that of mirrors and
// topics last. A process that dies in between leaves any of the others written: the command, which has no result yet, is
// handed out again and must end as if nothing had happened.
const PARTITIONS = [0, 1, 2];
const subsets = [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]];

/** A process that dies inside its first decision: only the records of these partitions are written. */
async function diesAfter(under: ControlUnderTest, written: readonly number[], ask: () => Promise<unknown>) {
  const write = under.store.write.bind(under.store);
  let isDead = false;
  under.store.write = async (changes: readonly StateChange[]) => {
    if (isDead) return new Promise(() => undefined);
    isDead = true;
    await write(
      changes.filter(
        (change) =>
          'put' in change && change.put.kind === 'partition' && written.includes(change.put.partition),
      ),
    );
    return new Promise(() => undefined);
  };
  ask().catch(() => undefined);
  await vi.waitFor(() => expect(under.store.taken).toHaveLength(1));
  await vi.waitFor(() => expect(isDead).toBe(true));
  await new Promise((resolve) => setImmediate(resolve));
  under.store.fenced = true;
  const next = new ControlUnderTest();
  for (const kind of ['mirrors', 'topics', 'partitions'] as const) {
    for (const [key, record] of under.store.view[kind]) next.store.view[kind].set(key, record as never);
  }
  return { next, command: under.store.taken[0]! };
}

test.each(subsets)(
  'create and start, cut off with records of partitions %s %s %s written',
  async (...written) => {
    const first = new ControlUnderTest();
    first.world.source.add('orders', PARTITIONS.length);
    first.start();
    const options = { source: 'east', include: ['orders'], start: true };
    const { next, command } = await diesAfter(first, written, () =>
      first.ask('create', { mirror: 'm', options }),
    );
    next.world.source.add('orders', PARTITIONS.length);
    next.start();
    expect(await next.store.take(command)).toMatchObject({ ok: true });
    expect(next.store.view.topics.get('orders')).toMatchObject({
      mirror: 'm',
      desired: 'MIRRORING',
      generation: 1,
    });
    for (const partition of PARTITIONS) await next.untilState('LOG_ALIGNMENT', partition);
    await next.close();
  },
);

test.each(subsets)('failover, cut off with records of partitions %s %s %s written', async (...written) => {
  const records = PARTITIONS.map((partition) => partitionRecord('MIRRORING', { partition }));
  const first = new ControlUnderTest();
  await first.recorded(records);
  first.start();
  const { next, command } = await diesAfter(first, written, () =>
    first.ask('failover', { mirror: 'east-to-west', all: true }),
  );
  next.world.source.add('orders', PARTITIONS.length);
  const destination = next.world.destination.add('orders', PARTITIONS.length);
  destination.topics.get('orders')!.topicId = 'destination-orders-id';
  next.start();
  expect(await next.store.take(command)).toMatchObject({ ok: true });
  expect(next.store.view.topics.get('orders')?.desired).toBe('STOPPED');
  for (const partition of PARTITIONS) await next.untilState('STOPPED', partition);
  for (const partition of PARTITIONS) expect(next.world.log('orders', partition).barriers()).toEqual([0]);
  await next.close();
});
