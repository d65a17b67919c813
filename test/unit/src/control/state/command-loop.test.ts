import { describe, expect, test } from 'vitest';
import { CommandLoop } from '../../../../../src/control/state/command-loop.ts';
import { StateWriteRefused } from '../../../../../src/control/state/retry.ts';
import type {
  CommandHandler,
  CommandRecord,
  ResultRecord,
  StateChange,
} from '../../../../../src/control/state/types.ts';
import { ReplayedView } from '../../../../../src/control/state/view.ts';
import { command, topic } from './samples.ts';

const NOW = 1_800_000_000_000;

/** A store in memory: commits change the view at once. */
function setUp(handler: CommandHandler, refuse: (changes: readonly StateChange[]) => boolean = () => false) {
  const view = new ReplayedView(1);
  const log: string[] = [];
  let stopped = false;
  const loop = new CommandLoop({
    view,
    handler: (taken) => {
      log.push(`take ${taken.id}`);
      return handler(taken);
    },
    begin: async (begun: CommandRecord) => {
      log.push(`begin ${begun.id} at ${begun.begunAt}`);
      view.commands.set(begun.id, { ...begun, ownerEpoch: 1 });
    },
    finish: async (changes, result: ResultRecord) => {
      if (refuse(changes)) throw new StateWriteRefused('MESSAGE_TOO_LARGE');
      log.push(`finish ${result.id} ${result.ok ? 'ok' : result.errorMessage}`);
      view.commands.delete(result.id);
      view.results.set(result.id, { ...result, ownerEpoch: 1 });
    },
    discard: async (id) => {
      log.push(`discard ${id}`);
      view.commands.delete(id);
    },
    now: () => NOW,
    stopped: () => stopped,
  });
  const submit = (id: string, over: Partial<CommandRecord> = {}) =>
    view.commands.set(id, { ...command, id, begunAt: 0, deadline: NOW + 1, ownerEpoch: 0, ...over });
  const stop = (): void => {
    stopped = true;
  };
  return { view, log, loop, submit, stop };
}

const fine: CommandHandler = async () => ({ changes: [], ok: true });

describe('command loop', () => {
  test('commands are begun, handled and finished one after the other, in log order', async () => {
    const { log, loop, submit } = setUp(fine);
    submit('a');
    submit('b');
    loop.wake();
    await loop.idle();
    expect(log).toEqual([
      `begin a at ${NOW}`,
      'take a',
      'finish a ok',
      `begin b at ${NOW}`,
      'take b',
      'finish b ok',
    ]);
  });

  test('past its deadline and not begun, a command ends as EXPIRED without being handled', async () => {
    const { log, loop, submit, view } = setUp(fine);
    submit('late', { deadline: NOW - 2_000 });
    loop.wake();
    await loop.idle();
    expect(log).toHaveLength(1);
    expect(view.results.get('late')).toMatchObject({
      ok: false,
      errorCode: 7,
      errorMessage: expect.stringMatching(/^EXPIRED.*2 s ago/),
    });
  });

  test('a begun command is finished whatever its deadline, and not begun again', async () => {
    const { log, loop, submit } = setUp(fine);
    submit('old', { deadline: NOW - 60_000, begunAt: NOW - 70_000 });
    loop.wake();
    await loop.idle();
    expect(log).toEqual(['take old', 'finish old ok']);
  });

  test('a command that has a result already is not done twice', async () => {
    const { log, loop, submit, view } = setUp(fine);
    submit('a');
    loop.wake();
    await loop.idle();
    submit('a');
    loop.wake();
    await loop.idle();
    expect(log.slice(-2)).toEqual(['finish a ok', 'discard a']);
    expect(view.commands.size).toBe(0);
  });

  test('a handler that throws gives a failed result with its message', async () => {
    const { loop, submit, view } = setUp(() => Promise.reject(new Error('no such mirror')));
    submit('a');
    loop.wake();
    await loop.idle();
    expect(view.results.get('a')).toMatchObject({ ok: false, errorCode: -1, errorMessage: 'no such mirror' });
  });

  test('changes that the broker refuses give a failed result', async () => {
    const { loop, submit, view } = setUp(
      async () => ({ changes: [{ put: topic }], ok: true }),
      (changes) => changes.length > 0,
    );
    submit('a');
    loop.wake();
    await loop.idle();
    expect(view.results.get('a')).toMatchObject({ ok: false, errorMessage: 'MESSAGE_TOO_LARGE' });
  });

  test('one that comes while another is handled is taken after it, also without another wake', async () => {
    const gate = Promise.withResolvers<void>();
    const { loop, submit, log } = setUp(async () => {
      await gate.promise;
      return { changes: [], ok: true };
    });
    submit('a');
    loop.wake();
    submit('b');
    loop.wake();
    gate.resolve();
    await loop.idle();
    expect(log.filter((line) => line.startsWith('finish'))).toEqual(['finish a ok', 'finish b ok']);
  });

  test('once stopped, nothing more is taken', async () => {
    const { loop, submit, log, stop } = setUp(fine);
    stop();
    submit('a');
    loop.wake();
    await loop.idle();
    expect(log).toEqual([]);
  });
});
