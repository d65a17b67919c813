import { expect, test } from 'vitest';
import { Outages } from '../../../../../src/control/state/outages.ts';

function outagesOf(
  state: { away?: string; stuck?: string; owned?: boolean },
  replicationFactor = 1,
): Outages {
  const reader = { positions: { isOutOfReach: () => state.away !== undefined, gap: () => state.away } };
  const writers = { stuckFor: () => state.stuck ?? null };
  const ownership = { owns: () => state.owned ?? true };
  const settings = { topic: '__s', partitions: 3, replicationFactor };
  return new Outages(settings, 'west', { reader, writers, ownership } as never);
}

test('nothing is said of a state partition in reach', () => {
  expect(outagesOf({}).all().size).toBe(0);
});

test.each([
  [{ away: 'it has no leader' }, 'is out of reach: it has no leader; start the broker that holds it'],
  [{ stuck: 'EndTxn: no answer' }, 'is out of reach: EndTxn: no answer; start the broker'],
  [{ stuck: 'NOT_COORDINATOR', owned: false }, 'is out of reach: NOT_COORDINATOR; start the broker'],
])('%o is told with the reason and the way out', (state, said) => {
  expect(outagesOf(state).of(2)).toContain(`partition 2 of the state topic __s on west ${said}`);
});

test('one that is back and not ours yet sends nobody to look for its broker', () => {
  const said = outagesOf({ owned: false }).of(2);
  expect(said).toBe(
    'partition 2 of the state topic __s on west is being taken over, which takes some seconds after it could be reached',
  );
});
