import { describe, expect, test } from 'vitest';
import { SplitCommit } from '../../../../../src/control/state/split-commit.ts';

/** State partitions whose transactions end when the test says so. */
function fakePartitions() {
  const pushed: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const commits = new SplitCommit((partition, entries) => {
    const name = `${partition}:${entries.map(({ key, value }) => `${key}=${String(value)}`).join(',')}`;
    pushed.push(name);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    ends.set(name, { resolve, reject });
    return promise.then(() => ({ partition, lastOffset: pushed.length }));
  });
  const change = (parts: Readonly<Record<number, string>>) =>
    commits.commit(
      new Map(
        Object.entries(parts).map(([partition, text]) => {
          const [key, value] = text.split('=');
          return [Number(partition), [{ key: key ?? '', value: Buffer.from(value ?? '') }]];
        }),
      ),
    );
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return { pushed, ends, change, turns };
}

describe('a change over several state partitions', () => {
  test('the part of partition 0 comes when all others stand', async () => {
    const { pushed, ends, change, turns } = fakePartitions();
    const written = change({ 0: 'topic/a=1', 1: 'partition/a/0=1', 2: 'partition/a/1=1' });
    await turns();
    expect(pushed).toEqual(['1:partition/a/0=1', '2:partition/a/1=1']);
    ends.get('1:partition/a/0=1')?.resolve();
    await turns();
    expect(pushed).toHaveLength(2);
    ends.get('2:partition/a/1=1')?.resolve();
    await turns();
    expect(pushed.at(-1)).toBe('0:topic/a=1');
    ends.get('0:topic/a=1')?.resolve();
    expect((await written).map(({ partition }) => partition)).toEqual([1, 2, 0]);
  });

  test('one state partition without a leader keeps no other change of partition 0 waiting', async () => {
    const { pushed, ends, change, turns } = fakePartitions();
    void change({ 0: 'topic/a=1', 1: 'partition/a/0=1' });
    const other = change({ 0: 'topic/b=1' });
    await turns();
    expect(pushed).toEqual(['1:partition/a/0=1', '0:topic/b=1']);
    ends.get('0:topic/b=1')?.resolve();
    await other;
  });

  test('a later change of the same key does not pass the one that waits', async () => {
    const { pushed, ends, change, turns } = fakePartitions();
    const first = change({ 0: 'topic/a=1', 1: 'partition/a/0=1' });
    const second = change({ 0: 'topic/a=2' });
    const third = change({ 0: 'topic/a=3' });
    await turns();
    expect(pushed).toEqual(['1:partition/a/0=1']);
    for (const name of ['1:partition/a/0=1', '0:topic/a=1', '0:topic/a=2', '0:topic/a=3']) {
      ends.get(name)?.resolve();
      await turns();
    }
    expect(pushed.slice(1)).toEqual(['0:topic/a=1', '0:topic/a=2', '0:topic/a=3']);
    await Promise.all([first, second, third]);
  });

  test('a part that is refused keeps partition 0 as it was, and lets the next change of the key through', async () => {
    const { pushed, ends, change, turns } = fakePartitions();
    const first = change({ 0: 'topic/a=1', 1: 'partition/a/0=1' });
    const second = change({ 0: 'topic/a=2' });
    await turns();
    ends.get('1:partition/a/0=1')?.reject(new Error('too large'));
    await expect(first).rejects.toThrow('too large');
    await turns();
    expect(pushed).toEqual(['1:partition/a/0=1', '0:topic/a=2']);
    ends.get('0:topic/a=2')?.resolve();
    await second;
  });
});
