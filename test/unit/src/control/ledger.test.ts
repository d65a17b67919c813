import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type Draft, Ledger } from '../../../../src/control/ledger.ts';
import { Backoff } from '../../../../src/control/backoff.ts';
import { StateAway } from '../../../../src/control/state/types.ts';
import { FakeStore } from './support/fake-store.ts';
import { mirrorRecord, partitionRecord, topicRecord } from './support/records.ts';

let store: FakeStore;
let ledger: Ledger;

beforeEach(async () => {
  store = new FakeStore();
  ledger = new Ledger(store);
  await store.write([{ put: mirrorRecord }, { put: topicRecord }, { put: partitionRecord('MIRRORING') }]);
  store.writes = 0;
});

const grow = (by: number) =>
  ledger.update((draft) => {
    const record = draft.partition('orders', 0);
    if (record === undefined) throw new Error('no record');
    draft.put({ ...record, persistedEnd: record.persistedEnd + by });
    return record.persistedEnd + by;
  });

describe('the ledger', () => {
  test('changes asked for at once see each other and share one write', async () => {
    expect(await Promise.all([grow(1), grow(10), grow(100)])).toEqual([1, 11, 111]);
    expect(store.view.partitions.get('orders/0')?.persistedEnd).toBe(111);
    expect(store.writes).toBe(1);
  });

  test('a change that waits for a write sees what it wrote', async () => {
    const first = grow(1);
    await Promise.resolve();
    const second = grow(10);
    expect([await first, await second]).toEqual([1, 11]);
  });

  test('a change that throws leaves nothing behind, and the others go through', async () => {
    const bad = ledger.update((draft) => {
      draft.put({ ...topicRecord, partitions: 99 });
      throw new Error('second thoughts');
    });
    const good = grow(5);
    await expect(bad).rejects.toThrow('second thoughts');
    await good;
    expect(store.view.topics.get('orders')?.partitions).toBe(1);
    expect(store.view.partitions.get('orders/0')?.persistedEnd).toBe(5);
  });

  test('a transition that the chart does not have is refused, whoever asks for it', async () => {
    const jump = ledger.update((draft) => draft.put(partitionRecord('STOPPED')));
    await expect(jump).rejects.toThrow(/can't go from MIRRORING to STOPPED/);
    expect(store.writes).toBe(0);
  });

  test('a failed write is the failure of all that it carried, and the next one is tried', async () => {
    store.faults.push(new Error('down'));
    const results = await Promise.allSettled([grow(1), grow(2)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await grow(3)).toBe(3);
  });

  test('a change that puts nothing writes nothing', async () => {
    expect(await ledger.update((draft) => draft.topic('orders')?.mirror)).toBe('east-to-west');
    expect(store.writes).toBe(0);
  });
});

describe('a state partition out of reach', () => {
  const other = { ...partitionRecord('MIRRORING'), partition: 1 };
  const end = (partition: number) => store.view.partitions.get(`orders/${partition}`)?.persistedEnd;
  const set = (partition: number, persistedEnd: number) => (draft: Draft) => {
    const record = draft.partition('orders', partition);
    if (record !== undefined) draft.put({ ...record, persistedEnd });
  };
  const stuck = Promise.withResolvers<void>();

  beforeEach(async () => {
    await store.write([{ put: other }]);
    store.stuck.set('partition/orders/1', stuck.promise);
  });

  test('keeps changes of other records waiting for nothing', async () => {
    const waits = ledger.update(set(1, 50));
    await ledger.update(set(0, 60));
    expect([end(0), end(1)]).toEqual([60, other.persistedEnd]);
    stuck.resolve();
    await waits;
    expect(end(1)).toBe(50);
  });

  test('changes of its own records stay in order, also one that others share', async () => {
    const gate = Promise.withResolvers<void>();
    store.stuck.set('partition/orders/1', gate.promise);
    const order: string[] = [];
    const first = ledger.update(set(1, 50)).then(() => order.push('first'));
    await Promise.resolve();
    const both = ledger
      .update((draft) => {
        const record = draft.partition('orders', 1);
        set(0, record?.persistedEnd ?? -1)(draft);
      })
      .then(() => order.push('both'));
    const last = ledger.update(set(0, 99)).then(() => order.push('last'));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(order).toEqual([]);
    gate.resolve();
    await Promise.all([first, both, last]);
    expect(order).toEqual(['first', 'both', 'last']);
    expect([end(0), end(1)]).toEqual([99, 50]);
  });

  test('who must not wait is told at once when it is known, and soon when it goes away meanwhile', async () => {
    store.away.set('orders/1', 'its broker is down');
    await expect(ledger.updateSoon(set(1, 50))).rejects.toThrow(StateAway);
    expect(end(1)).toBe(other.persistedEnd);
    store.away.clear();
    const gate = Promise.withResolvers<void>();
    store.stuck.set('partition/orders/1', gate.promise);
    const onItsWay = ledger.updateSoon(set(1, 70));
    onItsWay.catch(() => undefined);
    await Promise.resolve();
    const behind = ledger.updateSoon(set(1, 80));
    behind.catch(() => undefined);
    store.away.set('orders/1', 'its broker is down');
    await expect(onItsWay).rejects.toThrow('its broker is down');
    await expect(behind).rejects.toThrow('its broker is down');
    await ledger.settled();
    // the one on its way stands there in the end, the one behind was never done
    gate.resolve();
    await vi.waitFor(() => expect(end(1)).toBe(70));
  });

  test('who waits behind it is let go too, or counts as waiting for it', async () => {
    const gate = Promise.withResolvers<void>();
    store.stuck.set('partition/orders/1', gate.promise);
    const both = ledger.updateSoon((draft) => {
      set(0, 30)(draft);
      set(1, 30)(draft);
    });
    both.catch(() => undefined);
    await Promise.resolve();
    const patient = ledger.update(set(0, 31));
    const behind = ledger.updateSoon(set(0, 32));
    behind.catch(() => undefined);
    store.away.set('orders/1', 'its broker is down');
    await expect(both).rejects.toMatchObject({ message: 'its broker is down', isOnItsWay: true });
    await expect(behind).rejects.toMatchObject({ message: 'its broker is down', isOnItsWay: false });
    await ledger.settled();
    gate.resolve();
    await patient;
    expect([end(0), end(1)]).toEqual([31, 30]);
  });

  test('what was never read is not decided over', async () => {
    store.unknown.add('orders/1');
    await expect(ledger.update(set(1, 50))).rejects.toThrow(StateAway);
    await expect(ledger.update((draft) => draft.put(other))).rejects.toThrow(StateAway);
  });
});

describe('back-off', () => {
  test('doubles up to its ceiling, with jitter below it, and begins anew after success', () => {
    const backoff = new Backoff(100, 1000, () => 1);
    const gaps: number[] = [];
    let now = 0;
    for (let turn = 0; turn < 6; turn++) {
      backoff.failed('x', now);
      let waited = 0;
      while (!backoff.isDue('x', now)) {
        now += 10;
        waited += 10;
      }
      gaps.push(waited);
    }
    expect(gaps).toEqual([100, 200, 400, 800, 1000, 1000]);
    backoff.worked('x');
    expect(backoff.attempts('x')).toBe(0);
    expect(backoff.isDue('x', now)).toBe(true);
  });
});
