import { describe, expect, test } from 'vitest';
import type { RecordInput } from '../../../../../protocol/records/build.ts';
import { CommitQueue, toBatches } from '../../../../../src/control/state/commit-queue.ts';
import { StateWriteRefused } from '../../../../../src/control/state/retry.ts';
import type { Committed } from '../../../../../src/control/state/transactional-producer.ts';

interface Transaction {
  readonly keys: string[];
  readonly end: (error?: Error) => void;
}

/** A producer whose transactions end when the test says so. */
function fakeProducer() {
  const transactions: Transaction[] = [];
  let arrived = Promise.withResolvers<void>();
  const commit = (batches: readonly (readonly RecordInput[])[]): Promise<Committed> => {
    const { promise, resolve, reject } = Promise.withResolvers<Committed>();
    const keys = batches.flat().map(({ key }) => String(key));
    const lastOffset = transactions.length;
    const end = (error?: Error): void => {
      if (error === undefined) resolve({ lastOffset, sentAt: { mono: 0, wall: 0 } });
      else reject(error);
    };
    transactions.push({ keys, end });
    arrived.resolve();
    arrived = Promise.withResolvers();
    return promise;
  };
  const transaction = async (index: number): Promise<Transaction> => {
    while (transactions[index] === undefined) await arrived.promise;
    return transactions[index];
  };
  return { commit, transaction, transactions };
}

const entry = (key: string, value: string | null = 'v') => ({
  key,
  value: value === null ? null : Buffer.from(value),
});

describe('group commit', () => {
  test('what comes while a transaction runs becomes the next one', async () => {
    const { commit, transaction } = fakeProducer();
    const queue = new CommitQueue(commit);
    const first = queue.push([entry('a')]);
    (await transaction(0)).keys.push();
    const second = queue.push([entry('b')]);
    const third = queue.push([entry('c'), entry('d')]);
    (await transaction(0)).end();
    const next = await transaction(1);
    expect(next.keys).toEqual(['b', 'c', 'd']);
    next.end();
    expect(await Promise.all([first, second, third])).toMatchObject([
      { lastOffset: 0 },
      { lastOffset: 1 },
      { lastOffset: 1 },
    ]);
  });

  test('a heartbeat goes before all that waits', async () => {
    const { commit, transaction } = fakeProducer();
    const queue = new CommitQueue(commit);
    const running = queue.push([entry('a')]);
    await transaction(0);
    const waiting = queue.push([entry('topic')]);
    const beat = queue.push([entry('owner/0')], { urgent: true });
    (await transaction(0)).end();
    const sent = await transaction(1);
    expect(sent.keys[0]).toBe('owner/0');
    sent.end();
    await Promise.all([running, waiting, beat]);
  });

  test('a refused transaction is tried entry by entry: one too large does not take the others with it', async () => {
    const { commit, transaction } = fakeProducer();
    const queue = new CommitQueue(commit);
    const small = queue.push([entry('small')]);
    const large = queue.push([entry('large')]);
    (await transaction(0)).end(new StateWriteRefused('MESSAGE_TOO_LARGE'));
    (await transaction(1)).end();
    (await transaction(2)).end(new StateWriteRefused('MESSAGE_TOO_LARGE'));
    expect(await small).toMatchObject({ lastOffset: 1 });
    await expect(large).rejects.toThrow('MESSAGE_TOO_LARGE');
  });

  test('after a failure everything is rejected, for ever', async () => {
    const { commit, transaction } = fakeProducer();
    const queue = new CommitQueue(commit);
    const running = queue.push([entry('a')]);
    const sent = await transaction(0);
    const waiting = queue.push([entry('b')]);
    queue.fail(new Error('fenced'));
    sent.end(new Error('fenced'));
    for (const one of [running, waiting, queue.push([entry('c')])])
      await expect(one).rejects.toThrow('fenced');
  });
});

describe('batches of a transaction', () => {
  test('of one key only the last value is written, in the order of the last writes', () => {
    const batches = toBatches([entry('a', '1'), entry('b', '2'), entry('a', null)], 5n);
    expect(batches).toEqual([
      [
        { key: 'b', value: Buffer.from('2'), timestamp: 5n },
        { key: 'a', value: null, timestamp: 5n },
      ],
    ]);
  });

  test('many bytes are cut into batches that stay below the usual size limit', () => {
    const entries = Array.from({ length: 100 }, (_, n) => entry(`k${n}`, 'x'.repeat(10_000)));
    const batches = toBatches(entries);
    expect(batches.flat()).toHaveLength(100);
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(26);
  });
});
