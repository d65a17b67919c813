import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Waits } from '../../../../src/gateway/waits.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const world = () => {
  const told: string[] = [];
  const state = { held: false, alive: true };
  const gate = {
    hold: () => void (state.held = true),
    lift: () => void (state.held = false),
  };
  const waits = new Waits(gate, {
    alive: () => state.alive,
    givenUp: () => void told.push('given up'),
    failed: (why) => void told.push(`failed: ${why}`),
    broke: (why) => void told.push(`broke: ${why.split('\n')[0]}`),
  });
  return { told, state, waits };
};

/** Holds a request of some megabytes. */
function waitWith(waits: Waits, until: Promise<void>, judged: () => void): WeakRef<Buffer> {
  const frame = Buffer.alloc(4 * 1024 * 1024);
  waits.hold(until, () => {
    if (frame.length > 0) judged();
  });
  return new WeakRef(frame);
}

async function isKept(frame: WeakRef<Buffer>): Promise<boolean> {
  await turn();
  collect();
  return frame.deref() !== undefined;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a request that waits to be judged', () => {
  test('is judged once what it waits for has come, and reading goes on', async () => {
    const { told, state, waits } = world();
    const until = Promise.withResolvers<void>();
    waits.hold(until.promise, () => void told.push('judged'));
    expect(state.held).toBe(true);
    until.resolve();
    await vi.waitFor(() => expect(told).toEqual(['judged']));
    expect(state.held).toBe(false);
    vi.advanceTimersByTime(120_000);
    expect(told).toEqual(['judged']);
  });

  test('may wait again, reading stays held; a wait that is over at once leaves the process its turn', async () => {
    const { told, state, waits } = world();
    let rounds = 0;
    const again = (): void => {
      rounds += 1;
      waits.hold(Promise.resolve(), again);
    };
    waits.hold(Promise.resolve(), again);
    for (let n = 0; n < 5; n += 1) await turn();
    expect(rounds).toBeGreaterThan(1);
    expect(state.held).toBe(true);
    waits.stop();
    const before = rounds;
    for (let n = 0; n < 5; n += 1) await turn();
    expect(rounds).toBe(before);
    expect(told).toEqual([]);
  });

  test('is given up after a minute, and nothing keeps its bytes though what it waits for never comes', async () => {
    const { told, waits } = world();
    const never = new Promise<void>(() => undefined);
    const frame = waitWith(waits, never, () => void told.push('judged'));
    expect(await isKept(frame)).toBe(true);
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual(['given up']);
    expect(await isKept(frame)).toBe(false);
    expect(never).toBeInstanceOf(Promise);
  });

  test('whose client goes is forgotten at once, with its timer', async () => {
    const { told, state, waits } = world();
    const until = Promise.withResolvers<void>();
    const frame = waitWith(waits, until.promise, () => void told.push('judged'));
    state.alive = false;
    waits.stop();
    expect(vi.getTimerCount()).toBe(0);
    expect(await isKept(frame)).toBe(false);
    until.resolve();
    await turn();
    expect(told).toEqual([]);
  });

  test('fails with what it waited for', async () => {
    const { told, waits } = world();
    waits.hold(Promise.reject(new Error('the state can not be read')), () => void told.push('judged'));
    await vi.waitFor(() => expect(told).toEqual(['failed: the state can not be read']));
  });

  test('whose judging throws ends its connection, not the process', async () => {
    const { told, waits } = world();
    waits.hold(Promise.resolve(), () => {
      throw new Error('a fault of ours');
    });
    await vi.waitFor(() => expect(told).toEqual(['broke: Error: a fault of ours']));
  });

  test('has an end of its own when it is given up, if one was said', () => {
    const { told, waits } = world();
    waits.hold(
      new Promise(() => undefined),
      () => void told.push('judged'),
      () => void told.push('answered'),
    );
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual(['answered']);
  });
});
