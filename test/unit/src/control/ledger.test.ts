import { beforeEach, describe, expect, test } from 'vitest';
import { Ledger } from '../../../../src/control/ledger.ts';
import { Backoff } from '../../../../src/control/backoff.ts';
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
