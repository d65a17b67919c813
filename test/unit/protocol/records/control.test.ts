import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readHeader } from '../../../../protocol/records/batch.ts';
import {
  buildControlBatch,
  buildMarkerBatch,
  buildMirrorPidResetBatch,
  isBarrierMarker,
  readBarrier,
  readControlRecord,
  showBarrier,
} from '../../../../protocol/records/barrier.ts';
import {
  buildControlKey,
  buildMirrorPidResetValue,
  parseControlKey,
  parseMirrorPidReset,
} from '../../../../protocol/records/control.ts';
import { barrierHash, barrierId, barrierIdOfHash, fillerId } from '../../../../protocol/records/ids.ts';
import { isCrcValid } from '../../../../protocol/records/records.ts';
import { NOW, golden } from './golden.ts';

const EAST = 'Yx9PqgBkTzG0mYy3nXv1qA';

function barrierMarker(generation: number, id = barrierId(EAST)): Buffer {
  return buildMarkerBatch({
    type: 'COMMIT',
    coordinatorEpoch: generation,
    producerId: id,
    producerEpoch: 0,
    timestamp: NOW,
    baseOffset: 500,
    partitionLeaderEpoch: 9,
  });
}

describe('MirrorPidResetRecord', () => {
  test('is the bytes of KIP-1279: version, compact string, tagged fields', () => {
    expect(buildMirrorPidResetValue({ sourceClusterId: 'abc' }).toString('hex')).toBe('00000461626300');
    expect(buildMirrorPidResetValue({}).toString('hex')).toBe('000000');
    expect(buildMirrorPidResetValue({ sourceClusterId: '', generation: 5 }).toString('hex')).toBe(
      '00000101904e0400000005',
    );
    expect(buildControlKey(7).toString('hex')).toBe('00000007');
  });

  test('is read with and without SourceClusterId, with and without our tag', () => {
    const id = fc.oneof(
      fc.constant(undefined),
      fc.constant(''),
      fc.constant(EAST),
      fc.string({ maxLength: 200 }),
    );
    const generation = fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { nil: undefined });
    fc.assert(
      fc.property(id, generation, (sourceClusterId, gen) => {
        const reset = {
          ...(sourceClusterId === undefined ? {} : { sourceClusterId }),
          ...(gen === undefined ? {} : { generation: gen }),
        };
        expect(parseMirrorPidReset(buildMirrorPidResetValue(reset))).toEqual({ version: 0, ...reset });
      }),
    );
  });

  test('unknown tags are stepped over, a null cluster id reads as empty', () => {
    expect(parseMirrorPidReset(Buffer.from('000004616263' + '01' + '05' + '02' + 'beef', 'hex'))).toEqual({
      version: 0,
      sourceClusterId: 'abc',
    });
    expect(parseMirrorPidReset(Buffer.from('00000000', 'hex'))).toEqual({ version: 0, sourceClusterId: '' });
  });

  test('bytes that fit neither form are told, cut at each byte too', () => {
    const whole = buildMirrorPidResetValue({ sourceClusterId: EAST, generation: 3 });
    for (let length = 0; length < whole.length; length++) {
      expect(typeof parseMirrorPidReset(whole.subarray(0, length))).toBe('string');
    }
    for (const hex of ['ffff00', '0000ffffffff0f', '0000ffffffffff', '000001ffffffff0f', '00000000ff']) {
      expect([hex, typeof parseMirrorPidReset(Buffer.from(hex, 'hex'))]).toEqual([hex, 'string']);
    }
  });
});

describe('barrier', () => {
  test('as a marker it tells hash, generation and, when known, the source', () => {
    const marker = barrierMarker(6);
    expect(isBarrierMarker(marker, 0)).toBe(true);
    const barrier = { offset: 500, hash: barrierHash(EAST), generation: 6, form: 'marker' };
    expect(readBarrier(marker, 0)).toEqual({ ...barrier, sourceClusterId: undefined });
    expect(readBarrier(marker, 0, ['other', EAST])).toEqual({ ...barrier, sourceClusterId: EAST });
  });

  test('a marker of the real broker code with a barrier id is read the same', () => {
    expect(readBarrier(golden('commit-barrier'), 0)).toEqual({
      offset: 79,
      hash: 0x123456789abcdefn,
      generation: 6,
      sourceClusterId: undefined,
      form: 'marker',
    });
  });

  test('shown as type 7 it keeps offset, epoch, time and id, takes one offset and reads back as the same barrier', () => {
    const marker = barrierMarker(6);
    const shown = showBarrier(marker, 0, [EAST]) as Buffer;
    expect(isCrcValid(shown, 0)).toBe(true);
    expect(readHeader(shown, 0)).toMatchObject({
      baseOffset: 500,
      lastOffset: 500,
      recordCount: 1,
      partitionLeaderEpoch: 9,
      producerId: barrierId(EAST),
      producerEpoch: 0,
      baseSequence: -1,
      maxTimestamp: NOW,
      isControl: true,
      isTransactional: false,
      codec: 0,
    });
    expect(readControlRecord(shown, 0)).toEqual({
      kind: 'mirror-pid-reset',
      version: 0,
      sourceClusterId: EAST,
      generation: 6,
    });
    expect(readBarrier(shown, 0)).toEqual({ ...readBarrier(marker, 0, [EAST]), form: 'type-7' });
  });

  test('a hash that is not known shows as an empty SourceClusterId and stays the hash', () => {
    const shown = showBarrier(barrierMarker(2), 0) as Buffer;
    expect(readControlRecord(shown, 0)).toMatchObject({ sourceClusterId: '', generation: 2 });
    expect(readBarrier(shown, 0)).toMatchObject({ hash: barrierHash(EAST), sourceClusterId: undefined });
  });

  test('other batches are not shown differently', () => {
    for (const name of ['commit', 'abort', 'idempotent', 'leader-change', 'emptied']) {
      expect(showBarrier(golden(name), 0)).toBeUndefined();
      expect(readBarrier(golden(name), 0)).toBeUndefined();
    }
    const filler = barrierMarker(0, fillerId(500));
    expect(showBarrier(filler, 0)).toBeUndefined();
    const abort = buildMarkerBatch({
      type: 'ABORT',
      coordinatorEpoch: 1,
      producerId: barrierId(EAST),
      producerEpoch: 0,
      timestamp: NOW,
    });
    expect(showBarrier(abort, 0)).toBeUndefined();
  });

  test('a foreign type 7 gives the hash of its SourceClusterId, or 0, and generation 0', () => {
    const foreign = { producerId: -1n, producerEpoch: -1, timestamp: NOW, generation: undefined } as const;
    const named = buildMirrorPidResetBatch({ ...foreign, sourceClusterId: EAST });
    expect(readBarrier(named, 0)).toMatchObject({
      hash: barrierHash(EAST),
      generation: 0,
      sourceClusterId: EAST,
      form: 'type-7',
    });
    const unnamed = buildMirrorPidResetBatch({ ...foreign, sourceClusterId: undefined });
    expect(readBarrier(unnamed, 0)).toMatchObject({ hash: 0n, generation: 0, sourceClusterId: undefined });
    const claiming = buildMirrorPidResetBatch({ ...foreign, sourceClusterId: EAST, generation: 44 });
    expect(readBarrier(claiming, 0)).toMatchObject({ generation: 0 });
  });

  test('the cheap test agrees with the id ranges at their edges', () => {
    for (const hash of [0n, 1n, 0xffff_ffffn, 2n ** 32n, 2n ** 60n - 1n]) {
      expect(isBarrierMarker(barrierMarker(1, barrierIdOfHash(hash)), 0)).toBe(true);
    }
    for (const id of [-(2n ** 62n) + 1n, -(2n ** 62n) - 2n ** 60n, -(2n ** 63n), -1n, 0n]) {
      expect(isBarrierMarker(barrierMarker(1, id), 0)).toBe(false);
    }
    expect(() => barrierIdOfHash(2n ** 60n)).toThrow(RangeError);
  });
});

describe('control records that are not what they seem', () => {
  test('keys and values too short are told, not thrown', () => {
    const control = (key: Buffer, value: Buffer): unknown =>
      readControlRecord(buildControlBatch({ key, value, timestamp: NOW }), 0);
    expect(control(Buffer.alloc(3), Buffer.alloc(6))).toMatchObject({
      kind: 'unreadable',
      typeNumber: undefined,
    });
    for (const type of [0, 1, 2, 5, 7]) {
      expect(control(buildControlKey(type), Buffer.alloc(1))).toMatchObject({
        kind: 'unreadable',
        typeNumber: type,
      });
    }
    expect(parseControlKey(null)).toBeUndefined();
  });

  test('a data batch, an emptied one and a huge one are refused', () => {
    expect(() => readControlRecord(golden('idempotent'), 0)).toThrow('no control batch');
    const value = Buffer.alloc(70_000);
    const huge = buildControlBatch({ key: buildControlKey(1), value, timestamp: NOW });
    expect(() => readControlRecord(huge, 0)).toThrow('control batch of');
  });
});
