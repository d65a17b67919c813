import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TransactionalProducerOptions } from '../../../../../src/control/state/transactional-producer.ts';
import type { StateReaderOptions } from '../../../../../src/control/state/state-reader.ts';
import { partitionRecord } from '../support/records.ts';
import { TOPICS, world } from './support/owners-world.ts';

vi.mock('../../../../../src/control/state/transactional-producer.ts', () => ({
  TransactionalProducer: class {
    readonly #options: TransactionalProducerOptions;
    constructor(options: TransactionalProducerOptions) {
      this.#options = options;
    }
    init = (isWanted: () => boolean = () => true) => world().init(this.#options, this, isWanted);
    commit = (batches: Parameters<ReturnType<typeof world>['commit']>[2]) =>
      world().commit(this.#options, this, batches);
  },
}));
vi.mock('../../../../../src/control/state/state-reader.ts', () => ({
  FETCH_LANE: 'fetch',
  StateReader: class {
    readonly positions;
    constructor(options: StateReaderOptions) {
      this.positions = world().reads(options);
    }
    hurry = () => () => undefined;
    start = () => undefined;
  },
}));
vi.mock('../../../../../src/control/state/state-topic.ts', () => ({
  ensureStateTopic: async () => ({ topicId: 'id' }),
}));
vi.mock('../../../../../src/control/state/retry.ts', async (original) => ({
  ...(await original<object>()),
  pause: (ms: number, signal: AbortSignal) => world().pause(ms, signal),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

// Instances of one destination over state partitions 0 and 1: started, cut off from one of the two, crashed and closed
// at any moment, each request served and answered at any later one. After every step: at most one of them may append to
// what lives in a state partition, a released end that counts is the end of the log, and every value of a key is one
// higher than the one before it, which was read: none is lost, doubled or late.
test.each(Array.from({ length: 90 }, (_, seed) => seed))(
  'instances that take over from each other at random, seed %i',
  async (seed) => {
    const model = world(seed);
    for (let step = 0; step < 3_000; step++) await model.step();
    await model.end();
    expect(model.faults).toEqual([]);
  },
);

test('an owner that leaves before the one before it has certainly stopped leaves the next one the same wait', async () => {
  const model = world(0);
  const first = model.start();
  await model.serveOnly(first);
  model.pass(100);
  const second = model.start();
  await model.serveOnly(second);
  const closed = second.store.close(new Map());
  await model.serveOnly(second);
  await closed;
  const third = model.start();
  await model.serveOnly(third);
  const mayAppend = () => [first, third].map(({ store }) => store.mayAppend(TOPICS[1], 0));
  expect(mayAppend()).toEqual([true, false]);
  for (let at = 0; at < 4; at++) {
    model.pass(1_000);
    await model.serveOnly(third, 5);
  }
  expect(mayAppend()).toEqual([false, true]);
  await model.end();
  expect(model.faults).toEqual([]);
});

test('a fenced owner takes no state partition from the newer one, not even one that it still waited for', async () => {
  const model = world(0);
  const first = model.start();
  first.cut.add(1);
  await model.serveOnly(first);
  model.pass(1_000);
  await model.serveOnly(first);
  expect([first.store.incarnation, first.store.outages().size]).toEqual([1, 1]);
  const second = model.start();
  await model.serveOnly(second);
  model.pass(1_300);
  await model.serveOnly(first);
  expect(first.store.fenced).toBe(true);
  first.cut.clear();
  await model.serveOnly(first);
  const written = second.store.write([{ put: partitionRecord('MIRRORING', { topic: TOPICS[1] as string }) }]);
  await model.serveOnly(second);
  await written;
  expect(second.store.fenced).toBe(false);
  await model.end();
});

test('the random steps come to what is to be proven', () => {
  expect(world().seen.appends).toBeGreaterThan(100);
  for (const times of Object.values(world().seen)) expect(times).toBeGreaterThan(10);
});
