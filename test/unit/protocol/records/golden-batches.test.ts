import { describe, expect, test } from 'vitest';
import { headerFault, isDense, readHeader } from '../../../../protocol/records/batch.ts';
import {
  buildControlBatch,
  buildMarkerBatch,
  isBarrierMarker,
  readControlRecord,
} from '../../../../protocol/records/barrier.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { isXerialFramed } from '../../../../protocol/records/snappy-framing.ts';
import { isCrcValid, readRecords } from '../../../../protocol/records/records.ts';
import { walkBatches } from '../../../../protocol/records/walk.ts';
import { NOW, golden } from './golden.ts';

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

function plain(name: string): unknown[] {
  return [...readRecords(golden(name))].map((record) => ({
    offset: record.offset,
    time: record.timestamp,
    key: record.key?.toString() ?? null,
    value: record.value?.toString() ?? null,
    headers: record.headers.map((header) => [header.key, header.value?.toString() ?? null]),
  }));
}

describe('batches written by Java', () => {
  test.each(CODECS)('records with nulls, empties, headers and far apart times read back (%s)', (codec) => {
    expect(readHeader(golden(`mixed-${codec}`), 0)).toMatchObject({
      baseOffset: 1000,
      lastOffset: 1004,
      recordCount: 5,
      codec: CODECS.indexOf(codec),
      baseTimestamp: NOW,
      maxTimestamp: 4102444800000n,
      producerId: -1n,
      isControl: false,
    });
    expect(plain(`mixed-${codec}`)).toEqual([
      { offset: 1000, time: NOW, key: 'key', value: 'value', headers: [] },
      { offset: 1001, time: 0n, key: null, value: 'no key, epoch time', headers: [] },
      { offset: 1002, time: NOW + 1n, key: 'tombstone', value: null, headers: [] },
      { offset: 1003, time: 4102444800000n, key: '', value: '', headers: [] },
      {
        offset: 1004,
        time: NOW + 2n,
        key: null,
        value: null,
        headers: [
          ['null', null],
          ['empty', ''],
          ['', 'empty key'],
          ['null', 'again, with a value'],
          ['späť €', 'ünï'],
        ],
      },
    ]);
  });

  test.each(CODECS.slice(1))('a batch of 120 kB in several compressed blocks reads back (%s)', (codec) => {
    const records = [...readRecords(golden(`large-${codec}`))];
    expect(records).toHaveLength(120);
    records.forEach((record, index) => {
      expect(record.key?.toString()).toBe(`k${index}`);
      expect(record.value?.toString()).toBe(`${index}`.padStart(4, '0').repeat(250));
    });
  });

  test('Java frames its snappy the xerial way, so the framed path was taken', () => {
    expect(isXerialFramed(golden('large-snappy').subarray(61))).toBe(true);
  });

  test('our builder gives the same bytes for plain, idempotent and transactional batches', () => {
    const records = [
      { timestamp: NOW, key: 'a', value: '1' },
      { timestamp: NOW + 5n, key: 'b', value: '2' },
    ];
    const header = { records, baseOffset: 42, producerId: 7001n, producerEpoch: 3, baseSequence: 17 };
    expect(buildBatch(header).equals(golden('idempotent'))).toBe(true);
    expect(
      buildBatch({ ...header, transactional: true, partitionLeaderEpoch: 5 }).equals(golden('transactional')),
    ).toBe(true);
    expect(
      buildBatch({
        baseOffset: 1000,
        records: [...readRecords(golden('mixed-none'))].map((record) => ({
          timestamp: record.timestamp,
          key: record.key,
          value: record.value,
          headers: record.headers,
        })),
      }).equals(golden('mixed-none')),
    ).toBe(true);
  });

  test('our builder gives the same bytes for markers', () => {
    const marker = {
      type: 'COMMIT',
      coordinatorEpoch: 12,
      producerId: 7001n,
      producerEpoch: 3,
      timestamp: NOW,
      baseOffset: 77,
      partitionLeaderEpoch: 4,
    } as const;
    expect(buildMarkerBatch(marker).equals(golden('commit'))).toBe(true);
    expect(
      buildMarkerBatch({ ...marker, type: 'ABORT', coordinatorEpoch: 13, baseOffset: 78 }).equals(
        golden('abort'),
      ),
    ).toBe(true);
  });

  test('a batch stamped by the broker gives its own time to each record', () => {
    expect(readHeader(golden('log-append-time'), 0).isLogAppendTime).toBe(true);
    expect([...readRecords(golden('log-append-time'))].map((record) => record.timestamp)).toEqual([
      NOW + 100n,
      NOW + 100n,
    ]);
  });

  test('a compacted batch keeps its offsets and is not dense', () => {
    const batch = golden('compacted');
    expect([...readRecords(batch)].map((record) => record.offset)).toEqual([100, 103, 104]);
    expect(readHeader(batch, 0).lastOffset).toBe(109);
    expect([isDense(batch, 0), isDense(golden('idempotent'), 0)]).toEqual([false, true]);
    expect(headerFault(batch, 0)).toBeUndefined();
  });

  test('a batch emptied by compaction has no records and still its offsets', () => {
    const batch = golden('emptied');
    expect([...readRecords(batch)]).toEqual([]);
    expect(isCrcValid(batch, 0)).toBe(true);
    expect(readHeader(batch, 0)).toMatchObject({ baseOffset: 200, lastOffset: 209, recordCount: 0 });
    expect(isDense(batch, 0)).toBe(false);
  });

  test('control records of each type that a broker writes are told apart', () => {
    const seen = [
      'commit',
      'abort',
      'leader-change',
      'snapshot-header',
      'snapshot-footer',
      'kraft-version',
      'kraft-voters',
    ].map((name) => readControlRecord(golden(name), 0));
    expect(seen).toEqual([
      { kind: 'end-transaction', type: 'COMMIT', version: 0, coordinatorEpoch: 12 },
      { kind: 'end-transaction', type: 'ABORT', version: 0, coordinatorEpoch: 13 },
      { kind: 'leader-change', version: 0, leaderId: 3 },
      { kind: 'other', type: 'SNAPSHOT_HEADER', typeNumber: 3, version: 0 },
      { kind: 'other', type: 'SNAPSHOT_FOOTER', typeNumber: 4, version: 0 },
      { kind: 'kraft-version', version: 0, kraftVersion: 1 },
      { kind: 'other', type: 'KRAFT_VOTERS', typeNumber: 6, version: 0 },
    ]);
  });

  test('a control type from the future is named by its number', () => {
    const key = Buffer.from([0, 0, 0, 9]);
    const batch = buildControlBatch({ key, value: Buffer.alloc(0), timestamp: NOW });
    expect(readControlRecord(batch, 0)).toEqual({
      kind: 'other',
      type: 'UNKNOWN_9',
      typeNumber: 9,
      version: undefined,
    });
  });

  test('only a marker with a barrier id counts as barrier marker', () => {
    const names = ['commit', 'abort', 'idempotent', 'leader-change', 'commit-barrier'];
    expect(names.map((name) => isBarrierMarker(golden(name), 0))).toEqual([false, false, false, false, true]);
  });

  test('old message formats are walked over, told by their magic, and not opened', () => {
    const set = Buffer.concat([golden('magic-0'), golden('magic-1-gzip'), golden('idempotent')]);
    const magics: number[] = [];
    const result = walkBatches(set, 0, set.length, (at) => void magics.push(set.readInt8(at + 16)));
    expect(magics).toEqual([0, 0, 1, 2]);
    expect(result).toMatchObject({ endedAt: set.length, partial: false });
    const old = Buffer.concat([golden('magic-1'), Buffer.alloc(61)]);
    expect(() => [...readRecords(old)]).toThrow('message format 1');
  });
});
