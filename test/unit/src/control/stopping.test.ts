import { beforeEach, describe, expect, test } from 'vitest';
import { barrierId } from '../../../../protocol/records/ids.ts';
import { Ledger } from '../../../../src/control/ledger.ts';
import type { CompareTail, TailVerdict } from '../../../../src/control/ports.ts';
import type { PartitionRecord } from '../../../../src/control/state/types.ts';
import { type KnownEnd, StopFailed, type StopWork, runStop } from '../../../../src/control/stopping.ts';
import { FakeLog } from './support/fake-log.ts';
import { FakeStore } from './support/fake-store.ts';
import { partitionRecord, stopProgress, topicRecord } from './support/records.ts';

class Crash extends Error {}

let store: FakeStore;
let log: FakeLog;
/** What a link of this process knows, for one call: afterwards it has let go. */
let link: KnownEnd | null;
let released: number | null;
let verdict: TailVerdict | null;
let emptied: number;

beforeEach(() => {
  store = new FakeStore();
  log = new FakeLog();
  link = null;
  released = null;
  verdict = null;
  emptied = 0;
});

async function asked(more: Partial<PartitionRecord> = {}, acceptDamage = false): Promise<void> {
  await store.write([
    { put: topicRecord },
    { put: partitionRecord('STOPPING', { stop: stopProgress({ acceptDamage }), ...more }) },
  ]);
}

function record(): PartitionRecord {
  const found = store.view.partitions.get('orders/0');
  if (found === undefined) throw new Error('no record');
  return found;
}

function work(more: Partial<StopWork> = {}): StopWork {
  return {
    mirror: 'east-to-west',
    ref: { topic: 'orders', partition: 0 },
    ledger: new Ledger(store),
    log,
    async endLink() {
      const known = link;
      link = null;
      return known;
    },
    releasedEnd: released,
    async compareTail(): Promise<CompareTail | null> {
      const found = verdict;
      return found === null ? null : async () => found;
    },
    emptyProducerEntries: () => {
      emptied += 1;
    },
    now: () => 5000,
    ...more,
  };
}

const stop = (more: Partial<StopWork> = {}) => runStop(work(more));
const hash = barrierId('east-id');

describe('a stop that meets no trouble', () => {
  test('with a link that knows its end: barrier at LMO + 1, STOPPED, settings due, no probe', async () => {
    log.data(10, -7n);
    link = { end: 10, openIds: [], unverified: null };
    await asked({ persistedEnd: 4, epochs: [{ epoch: 3, offset: 0 }] });

    await stop();

    expect(record()).toMatchObject({
      state: 'STOPPED',
      stop: null,
      persistedEnd: 10,
      lastMirrored: { offset: 9, sourceEpoch: 3 },
      barriers: [{ offset: 10, generation: 1, sourceClusterId: 'east-id' }],
      report: { lastMirrored: 9, finishedAt: 5000, unverified: [], damage: [], cutTransactions: [] },
    });
    expect(log.barriers()).toEqual([10]);
    expect(log.settles).toBe(0);
    expect(emptied).toBe(1);
    expect(store.view.topics.get('orders')?.configsPending).toBe(true);
  });

  test('of an empty partition: the barrier stands at offset 0', async () => {
    link = { end: 0, openIds: [], unverified: null };
    await asked();
    await stop();
    expect(log.barriers()).toEqual([0]);
    expect(record()).toMatchObject({ state: 'STOPPED', lastMirrored: { offset: -1, sourceEpoch: -1 } });
  });

  test('after a clean end of the last process: the released end counts, no probe', async () => {
    log.data(10, -7n);
    released = 10;
    await asked({ persistedEnd: 10 });
    await stop();
    expect(log.settles).toBe(0);
    expect(record()).toMatchObject({ state: 'STOPPED', report: { unverified: [] } });
  });

  test('by a new owner without the source: it probes, and the tail is listed as unverified', async () => {
    log.data(4, -7n).data(6, -1n);
    await asked({ persistedEnd: 4 });
    await stop();
    expect(log.settles).toBe(1);
    expect(record()).toMatchObject({
      state: 'STOPPED',
      settledBy: 'probe',
      lastMirrored: { offset: 9 },
      report: { unverified: [{ from: 4, to: 10, why: 'the source did not answer' }] },
    });
    expect(log.barriers()).toEqual([10]);
  });

  test('by a new owner whose source answers: an equal tail is not listed', async () => {
    log.data(10, -7n);
    verdict = { kind: 'equal' };
    await asked({ persistedEnd: 4 });
    await stop();
    expect(record()).toMatchObject({ state: 'STOPPED', report: { unverified: [], damage: [] } });
  });

  test('of a topic that was never created: STOPPED without a barrier', async () => {
    await asked();
    await stop({ log: null });
    expect(record()).toMatchObject({ state: 'STOPPED', barriers: [], report: { lastMirrored: -1 } });
  });

  test('said twice: the second does nothing', async () => {
    link = { end: 0, openIds: [], unverified: null };
    await asked();
    await stop();
    const { writes } = store;
    await stop();
    expect(store.writes).toBe(writes);
    expect(log.barriers()).toEqual([0]);
  });
});

describe('transactions at the end', () => {
  test('data with no marker is named as cut; a marker in the tail takes its id away', async () => {
    log.data(2, -10n, true).data(2, -11n, true).data(2, -12n, true).marker(-10n).marker(-11n);
    await asked({ persistedEnd: 4, openIds: [-10n, -11n] });
    await stop();
    expect(record().report?.cutTransactions).toEqual([-12n]);
  });

  test('the link knows them exactly', async () => {
    log.data(3, -10n, true);
    link = { end: 3, openIds: [-10n], unverified: null };
    await asked();
    await stop();
    expect(record().report?.cutTransactions).toEqual([-10n]);
  });
});

describe('damage', () => {
  test('a foreign batch in an unverified tail: FAILED, both ends named; accepted, it is in the report', async () => {
    log.data(4, -7n).data(2, 5n);
    await asked({ persistedEnd: 4 });
    await expect(stop()).rejects.toThrow(/offsets 4 to 5 are damaged.*producer id 5.*--accept-damage/);
    expect(log.barriers()).toEqual([]);

    await store.write([{ put: { ...record(), stop: stopProgress({ step: 1, acceptDamage: true }) } }]);
    await stop();
    expect(record()).toMatchObject({ state: 'STOPPED', report: { damage: [{ from: 4, to: 6 }] } });
    expect(log.barriers()).toEqual([6]);
  });

  test('a tail that differs from the source: FAILED for good', async () => {
    log.data(6, -7n);
    verdict = { kind: 'differs', offset: 5, message: 'other bytes' };
    await asked({ persistedEnd: 4 });
    const error = await stop().catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StopFailed);
    expect(error).toMatchObject({ retriable: false });
  });

  test('a log shorter than what was persisted: FAILED, the lost range named; accepted, the real end counts', async () => {
    log.data(3, -7n);
    await asked({ persistedEnd: 8 });
    await expect(stop()).rejects.toThrow(/offsets 3 to 7 are damaged.*lost its tail/);
    await store.write([{ put: { ...record(), stop: stopProgress({ step: 1, acceptDamage: true }) } }]);
    await stop();
    expect(record()).toMatchObject({
      state: 'STOPPED',
      persistedEnd: 3,
      report: { damage: [{ from: 3, to: 8 }] },
    });
    expect(log.barriers()).toEqual([3]);
  });

  test('batches behind our own barrier: FAILED', async () => {
    log.data(4, -7n).marker(hash, 1).data(1, 5n);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 4, barrierOffset: 4 }) });
    await expect(stop()).rejects.toThrow(/written behind the barrier at offset 4/);
  });

  test('a destination topic that is gone with records in it: FAILED unless accepted', async () => {
    await asked({ persistedEnd: 4 });
    await expect(stop({ log: null })).rejects.toThrow(/the destination topic is gone/);
  });
});

describe('the barrier that may stand already', () => {
  test('one of this stop (step 4 reached) is found and not written again', async () => {
    log.data(4, -7n).marker(hash, 1);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 4, barrierOffset: 4 }) });
    await stop();
    expect(log.barriers()).toEqual([4]);
    expect(record()).toMatchObject({ state: 'STOPPED', barriers: [{ offset: 4 }] });
  });

  test('one further on moves LMO: what stands before it is judged as the tail', async () => {
    log.data(4, -7n).data(2, -7n).marker(hash, 1);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 4, barrierOffset: 4 }) });
    await stop();
    expect(log.barriers()).toEqual([6]);
    expect(record()).toMatchObject({
      state: 'STOPPED',
      lastMirrored: { offset: 5 },
      report: { unverified: [{ from: 4, to: 6 }] },
    });
  });

  test('one of another generation is not ours: it belongs to the tail', async () => {
    log.data(4, -7n).marker(hash, 7);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 4, barrierOffset: 4, generation: 8 }) });
    await stop();
    expect(log.barriers()).toEqual([4, 5]);
    expect(record()).toMatchObject({ barriers: [{ offset: 5, generation: 8 }] });
  });

  test('before step 4 nothing in the log counts as ours', async () => {
    log.data(4, -7n).marker(hash, 1);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 1 }) });
    await stop();
    expect(record()).toMatchObject({
      barriers: [{ offset: 5 }],
      report: { unverified: [{ from: 4, to: 5 }] },
    });
  });
});

describe('a crash at any point, then the same again', () => {
  const steps = [1, 3, 4, 5, 5.5, 6, 7];
  test.each(steps)('at step %d: the same end state, exactly one barrier', async (at) => {
    log.data(4, -7n).data(6, -9n, true).marker(-9n);
    link = { end: 11, openIds: [], unverified: null };
    await asked({ persistedEnd: 4, epochs: [{ epoch: 2, offset: 0 }], sourceEnd: 20, sourceEndAt: 1000 });
    const crashing = stop({
      onStep: (step) => {
        if (step === at) throw new Crash();
      },
    });
    await expect(crashing).rejects.toBeInstanceOf(Crash);
    link = null;

    await stop();

    expect(log.barriers()).toEqual([11]);
    expect(record()).toMatchObject({
      state: 'STOPPED',
      persistedEnd: 11,
      lastMirrored: { offset: 10, sourceEpoch: 2 },
      barriers: [{ offset: 11, generation: 1 }],
      report: { lastMirrored: 10, sourceEnd: 20, sourceEndAt: 1000, damage: [], cutTransactions: [] },
    });
  });

  test.each([1, 2, 3, 4, 5, 6])('at state write %d: the same end state, exactly one barrier', async (nth) => {
    log.data(4, -7n);
    link = { end: 4, openIds: [], unverified: null };
    await asked();
    const write = store.write.bind(store);
    let writes = 0;
    store.write = async (changes) => {
      writes += 1;
      if (writes === nth) throw new Crash();
      return write(changes);
    };
    await stop().catch((error: unknown) => expect(error).toBeInstanceOf(Crash));
    store.write = write;

    await stop();

    expect(log.barriers()).toEqual([4]);
    expect(record()).toMatchObject({ state: 'STOPPED', lastMirrored: { offset: 3 } });
  });

  test.each(['readEnd', 'settle', 'readBatches', 'appendBarrier', 'appended'] as const)(
    'in the request %s: the same end state, exactly one barrier',
    async (request) => {
      log.data(4, -7n).data(2, -7n);
      await asked({ persistedEnd: 4 });
      log.fault = (now) => {
        if (now === request) throw new Crash();
      };
      await expect(stop()).rejects.toBeInstanceOf(Crash);
      log.fault = () => undefined;

      await stop();

      expect(log.barriers()).toEqual([6]);
      expect(record()).toMatchObject({
        state: 'STOPPED',
        lastMirrored: { offset: 5 },
        report: { unverified: [{ from: 4, to: 6 }] },
      });
    },
  );

  test('a stop that goes on at step 4 or before probes again: its barrier may still be on its way', async () => {
    log.data(4, -7n);
    await asked({ persistedEnd: 4, stop: stopProgress({ step: 4, barrierOffset: 4 }) });
    await stop();
    expect(log.settles).toBe(1);
  });

  test('what the link could not compare survives a crash before step 4', async () => {
    log.data(4, -7n);
    link = { end: 4, openIds: [], unverified: { from: 1, to: 3 } };
    await asked();
    await stop({
      onStep: (step) => {
        if (step === 3) throw new Crash();
      },
    }).catch(() => undefined);
    await stop();
    expect(record().report?.unverified).toMatchObject([{ from: 1, to: 3 }]);
  });

  test('what an older process could not compare stands in the report of a later stop', async () => {
    const unverified = [{ from: 0, to: 2, why: 'the source no longer held it when it was compared' }];
    log.data(4, -7n);
    link = { end: 4, openIds: [], unverified: null };
    await asked({ unverified });
    await stop();
    expect(record().report?.unverified).toEqual(unverified);
  });
});
