import { expect, test } from 'vitest';
import { planText } from '../../../../src/cli/output.ts';

test('a plan is told in words: what is not known, what is empty, how old', () => {
  const step = {
    do: 'stop',
    topic: 'orders',
    partition: 0,
    lastMirroredOffset: -1,
    sourceEnd: 12,
    sourceEndAgeMs: 3_400,
    difference: null,
    openTransactions: [],
  };
  const text = planText({ ok: true, plan: { steps: [step], notes: ['nothing was changed'] } });
  expect(text).toBe(
    '  stop: topic orders, partition 0, last mirrored nothing, source end 12, source end seen 3 s ago, ' +
      'would be lost unknown, cut transactions none\n  note: nothing was changed\n',
  );
});
