import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LocalTransaction } from '../../src/control/local-transactions.ts';
import { partitionStateChanged, syncError } from '../../src/observe/channels.ts';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// A transaction that a local producer had opened on the empty topic before its mirror took it over put its marker into
// the mirror when it ended, minutes later: every offset behind it was another, and nobody had been told.
let under: ControlUnderTest;
const open: LocalTransaction = {
  transactionalId: 'payments-7',
  state: 'Ongoing',
  producerId: 12n,
  partitions: [0],
};

beforeEach(() => {
  under = new ControlUnderTest();
  under.world.source.add('orders', 1);
});
afterEach(() => under.close());

const create = () =>
  under.ask('create', { mirror: 'm', topics: ['orders'], options: { source: 'east', start: true } });

test.each([['an empty topic'], ['no topic yet']])(
  'create on %s that one is open on: refused',
  async (what) => {
    if (what === 'an empty topic') under.world.destination.add('orders', 1);
    under.world.destination.transactions.set('orders', [open]);
    under.start();
    const answer = await create();
    expect(JSON.stringify(answer)).toMatch(/payments-7/);
    expect(JSON.stringify(answer)).toMatch(
      /kafka-transactions\.sh --bootstrap-server west:9092 describe --transactional-id 'payments-7'/,
    );
    expect(under.store.view.topics.size).toBe(0);
    expect(under.world.destination.created).toBe(0);
    expect(under.world.destination.alterations).toEqual([]);
  },
);

test('one that is opened before every gateway refuses it: FAILED, nothing appended, and tried again', async () => {
  const { destination } = under.world;
  const createTopic = destination.createTopic.bind(destination);
  destination.createTopic = async (topic) => {
    destination.transactions.set('orders', [open]);
    return createTopic(topic);
  };
  const failures: string[] = [];
  const end = partitionStateChanged.subscribe(({ to, error }) => {
    if (to === 'FAILED') failures.push(error ?? '');
  });
  under.start();
  await create();
  await vi.waitFor(() => expect(failures[0]).toContain('payments-7'));
  expect(under.world.links.length).toBe(0);
  expect(under.record().epochs).toEqual([]);
  destination.transactions.clear();
  await vi.waitFor(() => expect(under.world.links.length).toBe(1));
  expect(under.world.link.resumes.has('orders/0')).toBe(true);
  end();
});

test('one that is open on a mirror topic when it is started again: FAILED, named', async () => {
  await under.recorded([partitionRecord('MIRRORING')]);
  under.world.destination.transactions.set('orders', [open]);
  under.start();
  await under.untilState('FAILED');
  expect(under.record().errorMessage).toContain("transactional id 'payments-7' (Ongoing, producer id 12)");
  expect(under.world.destination.alterations).toEqual([]);
});

test('a foreign write names the transaction that is open there', async () => {
  under.start();
  await create();
  await vi.waitFor(() => expect(under.world.links.length > 0).toBe(true));
  await under.world.link.mirrored({ topic: 'orders', partition: 0 }, 10);
  await under.untilState('MIRRORING');
  under.world.destination.transactions.set('orders', [open]);
  under.world.link.hooks.failed(
    { topic: 'orders', partition: 0 },
    {
      code: 'foreign-write',
      message: 'something else was written',
      offset: 10,
      retriable: false,
    },
  );
  await under.untilState('FAILED');
  expect(under.record().errorMessage).toMatch(/^something else was written; .*payments-7/);
});

test('transactions that may not be seen: told, not refused', async () => {
  const told: string[] = [];
  const end = syncError.subscribe(({ message }) => void told.push(message));
  under.world.destination.unseenTransactions = 'not every transactional id may be described; kafka-acls …';
  under.start();
  const answer = await create();
  expect(answer.ok).toBe(true);
  expect(JSON.stringify(answer)).toContain('not every transactional id');
  await vi.waitFor(() => expect(under.world.links.length > 0).toBe(true));
  end();
  expect(told.filter((one) => one.includes('not every transactional id'))).toHaveLength(1);
});

// Own fault: between the failure of a link and its record the partition looked like one that is to be mirrored, and was
// handed to the link again.
test('a partition is not taken up again before its failure is on record', async () => {
  under.start();
  await create();
  await vi.waitFor(() => expect(under.world.links.length > 0).toBe(true));
  const { link } = under.world;
  await link.mirrored({ topic: 'orders', partition: 0 }, 10);
  await under.untilState('MIRRORING');
  const known = Promise.withResolvers<void>();
  const sleep = under.world.sleep.bind(under.world);
  // the look at transactions takes its time
  under.world.sleep = (ms, signal) => (ms === 5000 ? known.promise : sleep(ms, signal));
  vi.spyOn(under.world.destination, 'localTransactions').mockReturnValueOnce(new Promise(() => undefined));
  link.resumes.clear();
  link.hooks.failed(
    { topic: 'orders', partition: 0 },
    { code: 'foreign-write', message: 'something else was written', offset: 10, retriable: false },
  );
  await under.after(20_000);
  expect(under.record().state).toBe('MIRRORING');
  expect(link.resumes.size).toBe(0);
  known.resolve();
  await under.untilState('FAILED');
  expect(under.record()).toMatchObject({ retryAttempt: -1, errorMessage: 'something else was written' });
  expect(link.resumes.size).toBe(0);
});
