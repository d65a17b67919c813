import { expect, test } from 'vitest';
import { encodeRecord } from '../../../../../src/control/state/codec.ts';
import { FollowedView } from '../../../../../src/control/state/followed-view.ts';
import { keyText, statePartitionOf } from '../../../../../src/control/state/keys.ts';
import type { OwnerRecord, StateRecord } from '../../../../../src/control/state/types.ts';
import { mirror, partition } from './samples.ts';

const PARTITIONS = 3;
const home = statePartitionOf(partition.topic, partition.partition, PARTITIONS);
const owner = (incarnation: number): OwnerRecord => ({
  kind: 'owner',
  statePartition: home,
  instanceId: 'i',
  incarnation,
  released: false,
  ends: {},
  at: 1,
});

function follow() {
  const told: string[] = [];
  const followed = new FollowedView(PARTITIONS, (changes) => told.push(...changes.map(({ key }) => key)));
  const read = (at: number, record: StateRecord, ownerEpoch: number): void => {
    followed.record(at, keyText(record), encodeRecord(record, ownerEpoch));
  };
  return { followed, told, read };
}

test('records of a state partition that is not read to its end stay out of the view', () => {
  const { followed, told, read } = follow();
  read(home, owner(4), 4);
  read(home, { ...partition, state: 'MIRRORING' }, 4);
  followed.publish();
  expect(followed.view.partitions.size).toBe(0);
  expect(followed.view.knows(partition.topic, partition.partition)).toBe(false);
  expect(followed.staged.owner(home)?.incarnation).toBe(4);
  read(home, { ...partition, state: 'STOPPED' }, 4);
  expect(told).toEqual([]);

  followed.reveal(home);
  expect([...followed.view.partitions.values()].map(({ state }) => state)).toEqual(['STOPPED']);
  expect(followed.view.knows(partition.topic, partition.partition)).toBe(true);
  expect(told).toEqual([`owner/${home}`, keyText(partition)]);
});

test('once let through, records go straight into the view, and a deletion held back before is one', () => {
  const { followed, told, read } = follow();
  followed.reveal(0);
  read(0, mirror, 1);
  followed.publish();
  expect(told).toEqual([keyText(mirror)]);
  read(home === 0 ? 1 : home, owner(1), 1);
  followed.record(home === 0 ? 1 : home, `owner/${home}`, null);
  expect(followed.staged.owner(home)).toBeUndefined();
});
