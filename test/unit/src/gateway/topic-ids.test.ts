import { describe, expect, it } from 'vitest';
import { TopicIds } from '../../../../src/gateway/topic-ids.ts';

const A = 'AAAAAAAAAAAAAAAAAAAAAQ';
const B = 'AAAAAAAAAAAAAAAAAAAAAg';

describe('TopicIds', () => {
  const asked: string[][] = [];
  const idsOver = (known: Record<string, string>): TopicIds => {
    asked.length = 0;
    return new TopicIds(async (ids) => {
      asked.push([...ids]);
      return new Map(ids.flatMap((id) => (known[id] === undefined ? [] : [[id, known[id]]])));
    });
  };

  it('what was learned is not asked', async () => {
    const ids = idsOver({});
    ids.learn(A, 'orders');
    expect(ids.nameOf(A)).toBe('orders');
    expect(ids.needsLookup(A)).toBe(false);
    await ids.resolve([A]);
    expect(asked).toEqual([]);
  });

  it('equal questions at the same time are asked once', async () => {
    const ids = idsOver({ [A]: 'orders' });
    await Promise.all([ids.resolve([A, B]), ids.resolve([A]), ids.resolve([B])]);
    expect(asked).toEqual([[A, B]]);
    expect(ids.nameOf(A)).toBe('orders');
  });

  it('an unknown id is not asked again at once, and is known once it was learned', async () => {
    const ids = idsOver({});
    await ids.resolve([B]);
    expect(ids.needsLookup(B)).toBe(false);
    await ids.resolve([B]);
    expect(asked).toEqual([[B]]);
    ids.learn(B, 'late');
    expect(ids.nameOf(B)).toBe('late');
  });

  it('a cluster that can not be reached leaves the id unknown instead of failing', async () => {
    const ids = new TopicIds(() => Promise.reject(new Error('unreachable')));
    await ids.resolve([A]);
    expect(ids.nameOf(A)).toBeUndefined();
  });

  it('the zero id is nobody', () => {
    const ids = idsOver({});
    ids.learn('AAAAAAAAAAAAAAAAAAAAAA', 'nobody');
    expect(ids.nameOf('AAAAAAAAAAAAAAAAAAAAAA')).toBeUndefined();
  });
});
