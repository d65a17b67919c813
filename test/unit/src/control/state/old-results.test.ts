import { expect, test } from 'vitest';
import { OldResults } from '../../../../../src/control/state/old-results.ts';
import { result } from './samples.ts';

const HOUR = 3_600_000;
const finished = (id: string, finishedAt: number) => ({ ...result, id, finishedAt, ownerEpoch: 1 });

test('a result is tombstoned when it is older than an hour, and not before', () => {
  const results = new Map([
    ['a', finished('a', 1_000)],
    ['b', finished('b', 5_000)],
  ]);
  const old = new OldResults({ results });
  expect(old.due({ mono: 60_000, wall: 1_000 + HOUR })).toEqual([]);
  expect(old.due({ mono: 120_000, wall: 1_001 + HOUR })).toEqual(['result/a']);
});

test('results are looked through once a minute', () => {
  const old = new OldResults({ results: new Map([['a', finished('a', 0)]]) });
  expect(old.due({ mono: 59_999, wall: 2 * HOUR })).toEqual([]);
  expect(old.due({ mono: 60_000, wall: 2 * HOUR })).toEqual(['result/a']);
  expect(old.due({ mono: 119_999, wall: 2 * HOUR })).toEqual([]);
});
