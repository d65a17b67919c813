import { describe, expect, test } from 'vitest';
import { StateClosed, StateWriteRefused, persist } from '../../../../../src/control/state/retry.ts';
import { StateFenced } from '../../../../../src/control/state/types.ts';

describe('persisting', () => {
  test('what passes is tried again, a lost connection too, and each reason is told', async () => {
    const reasons: string[] = [];
    let tries = 0;
    const value = await persist(
      'EndTxn',
      new AbortController().signal,
      async () => {
        tries += 1;
        if (tries === 1) throw new Error('connection ended');
        return tries === 2 ? { again: 'NOT_COORDINATOR', soon: true } : { done: tries };
      },
      (why) => reasons.push(why),
    );
    expect(value).toBe(3);
    expect(reasons).toEqual(['EndTxn: connection ended', 'EndTxn: NOT_COORDINATOR']);
  });

  test.each([new StateFenced('fenced'), new StateWriteRefused('too large')])('final: %s', async (error) => {
    let tries = 0;
    const attempt = persist('Produce', new AbortController().signal, () => {
      tries += 1;
      return Promise.reject(error);
    });
    await expect(attempt).rejects.toBe(error);
    expect(tries).toBe(1);
  });

  test('a closed store ends it, also in the middle of a pause', async () => {
    const abort = new AbortController();
    const attempt = persist('Produce', abort.signal, async () => {
      queueMicrotask(() => abort.abort());
      return { again: 'LEADER_NOT_AVAILABLE' };
    });
    await expect(attempt).rejects.toThrow(StateClosed);
  });
});
