import { describe, expect, test } from 'vitest';
import { encodeRecord } from '../../../../../src/control/state/codec.ts';
import { keyOfRecord, keyText, placementOf } from '../../../../../src/control/state/keys.ts';
import type { StateRecord } from '../../../../../src/control/state/types.ts';
import { ReplayedView } from '../../../../../src/control/state/view.ts';
import { all, command, mirror, owner, partition, result, topic } from './samples.ts';

const COUNT = 50;

function put(view: ReplayedView, record: StateRecord, epoch: number) {
  const key = keyOfRecord(record);
  return view.apply(placementOf(key, COUNT), keyText(key), encodeRecord(record, epoch));
}

describe('replay of the state log', () => {
  test('each kind stands in its own map under its own name', () => {
    const view = new ReplayedView(COUNT);
    for (const record of all) put(view, record, 3);
    expect([...view.mirrors.keys()]).toEqual(['east-to-west']);
    expect([...view.topics.keys()]).toEqual(['orders']);
    expect([...view.partitions.keys()]).toEqual(['orders/7']);
    expect([...view.owners.keys()]).toEqual([49]);
    expect([...view.commands.keys()]).toEqual([command.id]);
    expect([...view.results.keys()]).toEqual([result.id]);
  });

  test('the latest record of a key wins and tells its change', () => {
    const view = new ReplayedView(COUNT);
    put(view, topic, 1);
    const change = put(view, { ...topic, desired: 'MIRRORING' }, 2);
    expect(change).toMatchObject({ key: 'topic/orders', record: { desired: 'MIRRORING', ownerEpoch: 2 } });
    expect(view.topics.get('orders')?.desired).toBe('MIRRORING');
  });

  test('a tombstone deletes, and one for a key that is not there changes nothing', () => {
    const view = new ReplayedView(COUNT);
    put(view, mirror, 1);
    expect(view.apply(0, 'mirror/east-to-west', null)).toEqual({
      key: 'mirror/east-to-west',
      record: undefined,
    });
    expect(view.apply(0, 'mirror/east-to-west', null)).toBeUndefined();
    expect(view.mirrors.size).toBe(0);
  });

  test('what an older owner wrote behind a newer one is ignored, within its state partition', () => {
    const view = new ReplayedView(COUNT);
    put(view, { ...owner, statePartition: 0, incarnation: 5 }, 5);
    expect(put(view, { ...topic, desired: 'PAUSED' }, 4)).toBeUndefined();
    expect(view.topics.size).toBe(0);
    expect(view.ignored).toBe(1);
    const elsewhere = put(view, partition, 4);
    expect(elsewhere).toBeDefined();
  });

  test('commands come from anyone and carry no epoch', () => {
    const view = new ReplayedView(COUNT);
    put(view, topic, 5);
    put(view, { ...command, begunAt: 0 }, 0);
    expect(view.commands.get(command.id)).toMatchObject({ begunAt: 0, ownerEpoch: 0 });
  });

  test('commands keep the order of the log, also when one was begun later', () => {
    const view = new ReplayedView(COUNT);
    put(view, { ...command, id: 'first', begunAt: 0 }, 0);
    put(view, { ...command, id: 'second', begunAt: 0 }, 0);
    put(view, { ...command, id: 'first', begunAt: 1 }, 4);
    expect([...view.commands.keys()]).toEqual(['first', 'second']);
  });

  test('a record in the wrong state partition is refused: the number of partitions was changed', () => {
    const view = new ReplayedView(COUNT);
    expect(() => view.apply(3, 'topic/orders', encodeRecord(topic, 1))).toThrow(
      /belongs into 0.*may not change/,
    );
  });

  test('a newer version and damage stop the replay instead of being skipped', () => {
    const view = new ReplayedView(COUNT);
    expect(() => view.apply(0, 'topic/orders', encodeRecord(topic, 1, 2))).toThrow(/version 2/);
    expect(() => view.apply(0, 'topic/orders', Buffer.from('00', 'hex'))).toThrow(/damaged/);
  });

  test('a key of no known kind is passed over', () => {
    const view = new ReplayedView(COUNT);
    expect(view.apply(0, 'colour/red', Buffer.from([1]))).toBeUndefined();
    expect(view.ignored).toBe(1);
  });
});
