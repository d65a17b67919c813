import { describe, expect, test } from 'vitest';
import {
  keyOfChange,
  keyOfRecord,
  keyText,
  parseKey,
  placementOf,
  statePartitionOf,
} from '../../../../../src/control/state/keys.ts';
import { all } from './samples.ts';

describe('state keys', () => {
  test('each kind has its text', () => {
    expect(all.map((record) => keyText(keyOfRecord(record)))).toEqual([
      'mirror/east-to-west',
      'topic/orders',
      'partition/orders/7',
      'owner/49',
      'command/0b0e7a52',
      'result/0b0e7a52',
    ]);
  });

  test.each(all)('the text of $kind is read back', (record) => {
    const key = parseKey(keyText(keyOfRecord(record)));
    expect(record).toMatchObject(key as object);
  });

  test('a deletion names the key that a put would', () => {
    expect(keyText(keyOfChange({ delete: { kind: 'topic', name: 'orders' } }))).toBe('topic/orders');
    expect(keyText(keyOfChange({ delete: { kind: 'mirror', name: 'm' } }))).toBe('mirror/m');
    expect(keyText(keyOfChange({ delete: { kind: 'partition', topic: 'a', partition: 0 } }))).toBe(
      'partition/a/0',
    );
  });

  test.each([
    '',
    'mirror',
    'mirror/',
    '/x',
    'partition/orders',
    'partition/orders/x',
    'partition//1',
    'owner/-1',
    'owner/01',
    'lease/1',
  ])('no key of ours: %j', (text) => {
    expect(parseKey(text)).toBeUndefined();
  });
});

describe('placement', () => {
  test('never moves: a record that moved would be found twice', () => {
    const names: [string, number, number][] = [
      ['orders', 0, 50],
      ['orders', 1, 50],
      ['orders', 7, 50],
      ['payments-eu', 0, 50],
      ['a.b', 11, 50],
      ['größe', 0, 50],
      ['orders', 0, 1],
      ['orders', 0, 3],
    ];
    expect(names.map(([topic, partition, count]) => statePartitionOf(topic, partition, count))).toEqual(
      GOLDEN,
    );
  });

  test('everything but partitions and owners lives in state partition 0', () => {
    const homes = all.map((record) => [record.kind, placementOf(keyOfRecord(record), 50)]);
    expect(Object.fromEntries(homes)).toMatchObject({
      mirror: 0,
      topic: 0,
      command: 0,
      result: 0,
      owner: 49,
    });
  });
});

/** CRC-32C by an independent implementation. */
const GOLDEN = [26, 17, 11, 33, 6, 41, 0, 0];
