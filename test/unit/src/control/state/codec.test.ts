import { describe, expect, test } from 'vitest';
import {
  STATE_VERSION,
  StateCodecError,
  decodeRecord,
  encodeRecord,
} from '../../../../../src/control/state/codec.ts';
import { keyOfRecord, keyText } from '../../../../../src/control/state/keys.ts';
import type { PartitionRecord } from '../../../../../src/control/state/types.ts';
import { all, mirror, owner, partition, topic } from './samples.ts';

const recode = (record: (typeof all)[number], epoch = 7) =>
  decodeRecord(keyText(keyOfRecord(record)), encodeRecord(record, epoch));

describe('state records', () => {
  test.each(all)('$kind comes back as it was written', (record) => {
    expect(recode(record)).toEqual({ ...record, ownerEpoch: 7 });
  });

  test('absent parts come back absent: no mirror, no stop, no report, not deleted', () => {
    const bare: PartitionRecord = {
      ...partition,
      stop: null,
      report: null,
      barriers: [],
      epochs: [],
      openIds: [],
    };
    expect(recode(bare)).toEqual({ ...bare, ownerEpoch: 7 });
    expect(recode({ ...topic, mirror: null, sourceSettings: {} })).toMatchObject({
      mirror: null,
      sourceSettings: {},
    });
    expect(recode({ ...mirror, deletedAt: null })).toMatchObject({ deletedAt: null });
    expect(recode({ ...owner, ends: {} }, 0)).toMatchObject({ ends: {}, ownerEpoch: 0 });
  });

  test('offsets that are not known stay -1', () => {
    const fresh: PartitionRecord = {
      ...partition,
      lastMirrored: { offset: -1, sourceEpoch: -1 },
      sourceEnd: -1,
      persistedEnd: 0,
    };
    expect(recode(fresh)).toMatchObject({ lastMirrored: { offset: -1, sourceEpoch: -1 }, sourceEnd: -1 });
  });

  test('a record of a newer version is refused by name', () => {
    const bytes = encodeRecord(topic, 7, STATE_VERSION + 1);
    const read = () => decodeRecord('topic/orders', bytes);
    expect(read).toThrow(/state record topic\/orders has version 2; this program reads up to 1/);
    expect(read).toThrow(/newer Isthmus/);
    expect(read).toThrow(expect.objectContaining({ newer: true }));
  });

  test('a newer version is told even when the rest is a kind that we do not know', () => {
    // version = 2, field 99 = "x"
    const bytes = Buffer.from([0x08, 0x02, 0x9a, 0x06, 0x01, 0x78]);
    expect(() => decodeRecord('topic/orders', bytes)).toThrow(/version 2/);
  });

  test.each([
    ['no bytes at all', Buffer.alloc(0)],
    ['not protobuf', Buffer.from('ffffffffffffffffffff', 'hex')],
    ['a version and nothing else', Buffer.from([0x08, 0x01])],
    ['a length beyond the end', Buffer.from([0x08, 0x01, 0x5a, 0x7f, 0x00])],
  ])('damage is named: %s', (_what, bytes) => {
    const read = () => decodeRecord('topic/orders', bytes);
    expect(read).toThrow(StateCodecError);
    expect(read).toThrow(/state record topic\/orders is damaged/);
  });

  test('a record under the key of another is refused', () => {
    expect(() => decodeRecord('topic/payments', encodeRecord(topic, 1))).toThrow(
      /it is one of topic\/orders/,
    );
  });

  test('cut at each byte it is refused or, at a field boundary, of another shape, but never a crash of another kind', () => {
    const bytes = encodeRecord(partition, 3);
    const key = 'partition/orders/7';
    for (let length = 0; length < bytes.length; length++) {
      try {
        decodeRecord(key, bytes.subarray(0, length));
      } catch (error) {
        expect(error).toBeInstanceOf(StateCodecError);
      }
    }
  });

  test('a 64-bit number beyond the safe integers is refused, not rounded', () => {
    const bytes = encodeRecord({ ...owner, ends: { 'orders/7': 2 ** 53 } }, 1);
    expect(() => decodeRecord('owner/49', bytes)).toThrow(/end is 9007199254740992/);
  });
});
