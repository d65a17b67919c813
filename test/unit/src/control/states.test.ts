import { describe, expect, test } from 'vitest';
import {
  type PartitionState,
  UNKNOWN,
  align,
  fail,
  isReadOnly,
  mayGo,
  mirror,
  retry,
  stateColumns,
  stateOf,
  stepDone,
  stop,
  stopped,
} from '../../../../src/control/states.ts';
import { partitionRecord, stopProgress } from './support/records.ts';

const names = ['UNKNOWN', 'LOG_ALIGNMENT', 'MIRRORING', 'STOPPING', 'STOPPED', 'FAILED'] as const;
const allowed: Record<(typeof names)[number], readonly string[]> = {
  UNKNOWN: ['LOG_ALIGNMENT', 'STOPPING', 'FAILED'],
  LOG_ALIGNMENT: ['MIRRORING', 'STOPPING', 'FAILED'],
  MIRRORING: ['STOPPING', 'FAILED'],
  STOPPING: ['STOPPED', 'FAILED'],
  STOPPED: ['LOG_ALIGNMENT'],
  FAILED: ['LOG_ALIGNMENT', 'MIRRORING', 'STOPPING'],
};

describe('the chart of a partition', () => {
  for (const from of names) {
    for (const to of names) {
      const may = from === to || allowed[from].includes(to);
      test(`${from} to ${to} is ${may ? 'allowed' : 'refused'}`, () => {
        expect(mayGo(from, to)).toBe(may);
      });
    }
  }

  test.each(['EPOCH_FENCING', 'ULE_RECOVERY', 'PAUSING', 'PAUSED'] as const)(
    '%s is never entered',
    (name) => {
      for (const from of names) expect(mayGo(from, name)).toBe(false);
    },
  );
});

describe('single transitions', () => {
  test('start, catch up, stop', () => {
    const mirroring = mirror(align(UNKNOWN));
    expect(mirroring).toEqual({ name: 'MIRRORING' });
    expect(stop(mirroring)).toEqual({ name: 'STOPPING', step: 0 });
  });

  test('stop works from every live state, and goes on where a failed stop stood', () => {
    expect(stop(UNKNOWN)).toEqual({ name: 'STOPPING', step: 0 });
    expect(stop({ name: 'LOG_ALIGNMENT' })).toEqual({ name: 'STOPPING', step: 0 });
    expect(stop(fail({ name: 'MIRRORING' }, 'x', false))).toEqual({ name: 'STOPPING', step: 0 });
    expect(stop(fail({ name: 'STOPPING', step: 4 }, 'x', false))).toEqual({ name: 'STOPPING', step: 4 });
    expect(stop({ name: 'STOPPING', step: 5 })).toEqual({ name: 'STOPPING', step: 5 });
  });

  test('steps only go forward, and STOPPED needs the barrier', () => {
    expect(stepDone({ name: 'STOPPING', step: 1 }, 4).step).toBe(4);
    expect(() => stepDone({ name: 'STOPPING', step: 5 }, 4)).toThrow(RangeError);
    expect(() => stopped({ name: 'STOPPING', step: 4 })).toThrow(/barrier/);
    expect(stopped({ name: 'STOPPING', step: 6 })).toEqual({ name: 'STOPPED' });
  });

  test('a second failure keeps where the first came from; not retriable is -1', () => {
    const first = fail({ name: 'MIRRORING' }, 'disk', true, 3);
    expect(first).toMatchObject({ retryAttempt: 3, from: { name: 'MIRRORING' } });
    const second = fail(first, 'diverged', false);
    expect(second).toMatchObject({ retryAttempt: -1, from: { name: 'MIRRORING' } });
    expect(retry(first)).toEqual({ name: 'MIRRORING' });
    expect(retry(second)).toBeNull();
  });

  test('only STOPPED is writable', () => {
    for (const name of names) expect(isReadOnly(name)).toBe(name !== 'STOPPED');
  });
});

describe('a state as a record', () => {
  const states: PartitionState[] = [
    UNKNOWN,
    { name: 'LOG_ALIGNMENT' },
    { name: 'MIRRORING' },
    { name: 'STOPPED' },
    fail({ name: 'MIRRORING' }, 'disk', true, 2),
    fail({ name: 'LOG_ALIGNMENT' }, 'gap', false),
  ];
  test.each(states)('$name is read back as written', (state) => {
    expect(stateOf(partitionRecord('UNKNOWN', stateColumns(state)))).toEqual(state);
  });

  test('STOPPING carries its step, also out of FAILED', () => {
    const columns = stateColumns(fail({ name: 'STOPPING', step: 4 }, 'silent', true, 1));
    const record = partitionRecord('UNKNOWN', { ...columns, stop: stopProgress({ step: 4 }) });
    expect(stateOf(record)).toEqual({
      name: 'FAILED',
      from: { name: 'STOPPING', step: 4 },
      retryAttempt: 1,
      message: 'silent',
    });
  });
});
