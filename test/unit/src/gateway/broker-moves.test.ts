import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BrokerMoves, type PinnedConnection } from '../../../../src/gateway/broker-moves.ts';
import type { BrokerAddress } from '../../../../src/gateway/upstream.ts';
import type { Cluster } from '../../../../src/net/cluster.ts';

const OLD: BrokerAddress = { nodeId: 1, host: 'a', port: 9092 };
const NEW: BrokerAddress = { nodeId: 1, host: 'b', port: 9092 };

class Connection implements PinnedConnection {
  leadsTo: BrokerAddress | null;
  readonly told: string[] = [];
  constructor(leadsTo: BrokerAddress | null) {
    this.leadsTo = leadsTo;
  }
  giveUp(why: string): void {
    this.told.push(why);
    this.leadsTo = null;
  }
}

describe('connections to where a broker was', () => {
  let known: BrokerAddress[];
  let asked: number;
  let pinned: Connection[];
  let moves: BrokerMoves;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    known = [OLD];
    asked = 0;
    pinned = [];
    const refresh = async (): Promise<void> => {
      asked += 1;
      known = [NEW];
    };
    moves = new BrokerMoves({ brokers: () => known, refresh } as unknown as Cluster, () => pinned);
  });
  afterEach(() => vi.useRealTimers());

  const tell = async (): Promise<void> => {
    moves.told([NEW]);
    await Promise.resolve();
    await Promise.resolve();
    vi.advanceTimersByTime(1_500);
  };

  it('are given up once', async () => {
    pinned = [new Connection(OLD), new Connection(NEW)];
    await tell();
    await tell();
    expect(pinned.map(({ told }) => told)).toEqual([['broker 1 is at b:9092 now'], []]);
    expect(asked).toBe(1);
  });

  // Own fault: looked at while its append was on its way, or before it stood, a connection was never looked at again.
  it('are given up later when they could not be at first', async () => {
    const [copier, opening] = [new Connection(null), new Connection(null)];
    pinned = [copier, opening];
    await tell();
    copier.leadsTo = OLD;
    opening.leadsTo = OLD;
    await tell();
    expect(copier.told).toEqual(['broker 1 is at b:9092 now']);
    expect(opening.told).toEqual(['broker 1 is at b:9092 now']);
    expect(asked).toBe(1);
  });
});
