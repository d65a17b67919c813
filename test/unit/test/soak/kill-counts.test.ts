import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { tempDir } from '../../../harness/temp-dir.ts';
import { type Killed, KillCounts, quotasOf } from '../../../soak/kill-counts.ts';
import { lastMarkerOffset } from '../../../soak/log-tail.ts';

const seen = (part: Partial<Killed>): Killed => ({
  kind: 'random',
  inFlight: false,
  markers: 0,
  replied: false,
  partial: false,
  upMs: null,
  ...part,
});

/** COMMIT as a broker writes it: key of version and type, value of version and coordinator epoch. */
const marker = (baseOffset: number): Buffer =>
  buildBatch({
    baseOffset,
    control: true,
    transactional: true,
    records: [{ key: Buffer.from([0, 0, 0, 1]), value: Buffer.from([0, 0, 0, 0, 0, 0]) }],
  });

describe('what a run of kills counts', () => {
  it('counts what was seen in flight, and a lone marker as no run', () => {
    const counts = new KillCounts();
    counts.add(seen({ kind: 'produce', inFlight: true, replied: true }));
    counts.add(seen({ kind: 'run', inFlight: true, markers: 2 }));
    counts.add(seen({ kind: 'markers', inFlight: true, markers: 1, upMs: 7 }));
    counts.add(seen({ kind: 'run' }));
    expect(counts.summary()).toMatchObject({
      kills: 4,
      inFlight: 3,
      inFlightUnanswered: 2,
      insideMarkerRun: 1,
    });
    expect(counts.missing({ inFlight: 3, inRun: 1 })).toEqual([]);
    expect(counts.missing({ inFlight: 4, inRun: 2 })).toEqual([
      '3 kills in flight, 4 are demanded',
      '1 kills inside a marker run, 2 are demanded',
    ]);
  });

  it('demands 100 in flight and 20 inside a run of 200', () => {
    expect(quotasOf(200)).toEqual({ inFlight: 100, inRun: 20 });
  });

  it('finds the last marker at the end of a segment file, and none behind data', () => {
    const { path, remove } = tempDir('log-tail');
    try {
      const dir = join(path, 't-0');
      mkdirSync(dir);
      expect(lastMarkerOffset(path, 't', 0)).toBe(-1);
      const data = buildBatch({ baseOffset: 4, records: [{ value: Buffer.alloc(200) }] });
      const file = join(dir, '00000000000000000000.log');
      writeFileSync(file, Buffer.concat([data, marker(5), marker(6)]));
      expect(lastMarkerOffset(path, 't', 0)).toBe(6);
      writeFileSync(file, Buffer.concat([marker(3), data]));
      expect(lastMarkerOffset(path, 't', 0)).toBe(-1);
    } finally {
      remove();
    }
  });
});
