import { describe, expect, test } from 'vitest';
import { protocolErrors } from '@platformatic/kafka';
import { ErrorCode, errorName, isRetriable, kafkaError, stockErrorName } from '../../../protocol/errors.ts';

describe('error codes', () => {
  test('every code has one name and a message', () => {
    const codes = Object.values(ErrorCode);
    expect(new Set(codes).size).toBe(codes.length);
    for (const [name, code] of Object.entries(ErrorCode)) {
      expect(kafkaError(code)).toMatchObject({ code, name });
      expect(kafkaError(code).message).not.toBe('');
    }
  });

  test('-1 to 133 and 136 to 146 are complete', () => {
    for (let code = -1; code <= 146; code++) {
      if (code === 135) continue;
      expect(errorName(code)).not.toBe(`ERROR_${code}`);
    }
  });

  test('agrees with the library wherever both know a code', () => {
    let compared = 0;
    for (const { code, id, canRetry } of Object.values(protocolErrors)) {
      if (code > 129) continue;
      expect(errorName(code)).toBe(id);
      if (code > 0) expect([code, isRetriable(code)]).toEqual([code, canRetry]);
      compared++;
    }
    expect(compared).toBeGreaterThan(100);
  });

  test('an unknown code is named by its number', () => {
    expect(errorName(9999)).toBe('ERROR_9999');
    expect(isRetriable(9999)).toBe(false);
  });

  test('codes that KIP-1279 drafted and 4.4.0 took are told apart by their source', () => {
    expect(errorName(134)).toBe('READ_ONLY_TOPIC');
    expect(stockErrorName(134)).toBe('GROUP_DELETION_FAILED');
    expect(stockErrorName(6)).toBe('NOT_LEADER_OR_FOLLOWER');
  });
});
