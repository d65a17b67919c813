import { afterEach, describe, expect, it } from 'vitest';
import { Cluster } from '../../src/net/cluster.ts';
import { type FakeCluster, startFakeBroker } from '../fake-broker/index.ts';
import { API } from '../fake-broker/support/requests.ts';

// A broker that was stopped in the middle kept the question for a coordinator, and with it the connection over which
// all later ones went: each failed by its time-out, for as long as that broker was silent.
describe('The question for a coordinator', () => {
  let fake: FakeCluster;
  let cluster: Cluster;
  afterEach(async () => {
    await cluster.close();
    await fake.close();
  });

  it.each([
    ['is never answered', 'hold'],
    ['loses its connection', 'cut'],
  ] as const)('that %s is asked again on another connection, within its time', async (_, kind) => {
    fake = await startFakeBroker();
    cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
    const bad = fake.next(API.findCoordinator, { kind });
    expect(await cluster.coordinator('transaction', 'isthmus-state-0', 8_000)).toBe(1);
    bad.release();
    expect(new Set(fake.requestsOf(API.findCoordinator).map(({ connection }) => connection)).size).toBe(2);
  });

  it('that nobody answers ends with an error after its time', async () => {
    fake = await startFakeBroker();
    cluster = new Cluster({ name: 'west', properties: { 'bootstrap.servers': fake.bootstrap } });
    const bad = fake.next(API.findCoordinator, { kind: 'hold' }, { times: 100 });
    const asked = cluster.coordinator('transaction', 'isthmus-state-0', 1_000);
    await expect(asked).rejects.toThrow('transaction coordinator of "isthmus-state-0" on west');
    bad.release();
  });
});
