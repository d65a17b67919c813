import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fifo } from '../../../../src/net/fifo.ts';
import { Gate } from '../../../../src/gateway/gate.ts';
import { OrderQueue, type Slot } from '../../../../src/gateway/order-queue.ts';

describe('Fifo', () => {
  it('behaves as an array with push and shift, whatever the mix', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.integer(), fc.constant(null)), { maxLength: 5_000 }), (steps) => {
        const fifo = new Fifo<number>();
        const model: number[] = [];
        for (const step of steps) {
          if (step === null) expect(fifo.shift()).toBe(model.shift());
          else {
            fifo.push(step);
            model.push(step);
          }
          expect(fifo.size).toBe(model.length);
          expect(fifo.peek()).toBe(model[0]);
        }
        expect([...fifo.drain()]).toEqual(model);
      }),
      { numRuns: 30 },
    );
  });
});

describe('Gate', () => {
  const watched = () => {
    const calls: string[] = [];
    const gate = new Gate<'a' | 'b'>({
      pauseReading: () => void calls.push('pause'),
      resumeReading: () => void calls.push('resume'),
    });
    return { calls, gate };
  };

  it('opens only when the last reason is gone', () => {
    const { calls, gate } = watched();
    gate.hold('a');
    gate.hold('b');
    gate.hold('a');
    gate.lift('a');
    expect(calls).toEqual(['pause']);
    gate.lift('b');
    expect(calls).toEqual(['pause', 'resume']);
    gate.lift('b');
    expect(gate.isOpen).toBe(true);
    expect(calls).toEqual(['pause', 'resume']);
  });
});

describe('OrderQueue', () => {
  const queue = () => {
    const out: string[] = [];
    const order = new OrderQueue({
      write: (chunks) => out.push(Buffer.concat(chunks).toString()),
      close: ({ cause }) => out.push(`<${cause}>`),
      shrunk: () => undefined,
    });
    return { out, order };
  };

  it('writes in the order of the slots, whatever the order in which they are filled', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8, maxLength: 8 }),
        (fillOrder) => {
          const { out, order } = queue();
          const slots: Slot[] = fillOrder.map(() => order.open());
          for (const at of fillOrder) slots[at]?.fill([Buffer.from(String(at))]);
          expect(out).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
          expect(order.size).toBe(0);
        },
      ),
    );
  });

  it('a close waits for its turn, and nothing is written behind it', () => {
    const { out, order } = queue();
    const [first, second, third] = [order.open(), order.open(), order.open()];
    third.fill([Buffer.from('never')]);
    second.close({ cause: 'request-refused', detail: '' });
    expect(out).toEqual([]);
    first.fill([Buffer.from('first')]);
    expect(out).toEqual(['first', '<request-refused>']);
  });
});
