import { describe, expect, test } from 'vitest';
import {
  BadTopicChoice,
  isLegalTopicName,
  matches,
  parseTopicChoice,
  resolveTopics,
} from '../../../../src/control/topic-choice.ts';

const existing = ['orders', 'orders.eu', 'ordersXeu', 'payments-1', 'payments-2', '__consumer_offsets'];

function resolve(include: readonly string[], exclude: readonly string[] = []) {
  return resolveTopics(parseTopicChoice(include), parseTopicChoice(exclude), existing);
}

describe('topics as they are named', () => {
  test('a literal name is a literal: a dot matches a dot', () => {
    expect(resolve(['orders.eu']).topics).toEqual(['orders.eu']);
  });

  test('a pattern matches whole names only', () => {
    expect(resolve(['/orders/']).topics).toEqual(['orders']);
    expect(resolve(['/payments-.*/']).topics).toEqual(['payments-1', 'payments-2']);
  });

  test('exclude beats include', () => {
    expect(resolve(['/payments-.*/', 'orders'], ['payments-2', '/ord.*/']).topics).toEqual(['payments-1']);
  });

  test('missing literals are named; a pattern without a match is none', () => {
    expect(resolve(['nothing', '/no-.*/'])).toEqual({ topics: [], missing: ['nothing'], internal: [] });
  });

  test('internal topics are never chosen, by pattern or by name', () => {
    expect(resolve(['/.*/']).topics).not.toContain('__consumer_offsets');
    expect(resolve(['__consumer_offsets'])).toMatchObject({ topics: [], internal: ['__consumer_offsets'] });
  });

  test.each(['', 'a b', 'a,b', '/', '/(/', 'é', 'x'.repeat(250)])('%j is refused, and quoted', (entry) => {
    expect(() => parseTopicChoice([entry])).toThrow(BadTopicChoice);
  });

  test('legal names are those of Kafka', () => {
    expect(['a', 'A.b_c-9', 'x'.repeat(249)].every(isLegalTopicName)).toBe(true);
    expect(['.', '..', 'a/b'].some(isLegalTopicName)).toBe(false);
  });

  test('a choice is asked about one name', () => {
    const choice = parseTopicChoice(['a', '/b+/']);
    expect([matches(choice, 'a'), matches(choice, 'bbb'), matches(choice, 'ab')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
