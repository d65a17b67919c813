import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode } from '../../protocol/errors.ts';
import { listTransactionsApi } from '../../protocol/schema/66-list-transactions.ts';
import type { Cluster } from '../net/cluster.ts';
import { lifecycle } from '../observe/channels.ts';
import { KafkaClusterAdmin } from './cluster-admin.ts';

/**
 * Two instances with different `state.topic` do not fence each other: a topic that both mirror ends FAILED by a foreign
 * write. The transactional ids of a state topic carry its name, coordinators list them, and whoever owns one writes to
 * its partition 0 each second: an end that moves within some seconds shows that the other one is alive now.
 */
export async function otherStates(
  cluster: Cluster,
  ours: string,
  signal: AbortSignal,
  aliveMs = ALIVE_MS,
): Promise<readonly string[]> {
  const topics = await namedByIds(cluster, ours);
  if (topics.length === 0) return [];
  await cluster.refresh(topics);
  const admin = new KafkaClusterAdmin(cluster);
  const ends = (): Promise<(number | null)[]> =>
    Promise.all(
      topics.map(async (topic) => {
        const [bounds] = await admin.bounds(topic, 1).catch(() => []);
        return bounds?.end ?? null;
      }),
    );
  const before = await ends();
  await delay(aliveMs, undefined, { signal });
  const after = await ends();
  return topics.filter((_, at) => {
    const [old = null, now = null] = [before[at], after[at]];
    return old !== null && now !== null && now > old;
  });
}

/** Looks once, beside everything else; what can't be found out is not told. */
export async function tellOtherStates(cluster: Cluster, ours: string, signal: AbortSignal): Promise<void> {
  const others = await otherStates(cluster, ours, signal).catch(() => []);
  if (others.length === 0) return;
  lifecycle.publish({
    level: 'warn',
    message:
      `another Isthmus keeps the state of its mirrors into ${cluster.name} in ${others.join(', ')}, this one in ${ours}: ` +
      'neither knows what the other mirrors, and a topic of both ends FAILED. Give both the same state.topic, so that ' +
      'one takes over from the other, or stop one',
    fields: { cluster: cluster.name, others: [...others] },
  });
}

async function namedByIds(cluster: Cluster, ours: string): Promise<string[]> {
  const topics = new Set<string>();
  // a broker that can't be asked hides what it coordinates, no more
  await Promise.allSettled(
    cluster.brokers().map(async ({ nodeId }) => {
      const connection = await cluster.connection(nodeId, LANE);
      const listed = await connection.call(
        listTransactionsApi,
        { stateFilters: [], producerIdFilters: [] },
        { timeoutMs: TIMEOUT_MS },
      );
      if (listed.errorCode !== ErrorCode.NONE) return;
      for (const { transactionalId } of listed.transactionStates) {
        const topic = /^isthmus-state-(.+)-0$/.exec(transactionalId)?.[1];
        if (topic !== undefined && topic !== ours) topics.add(topic);
      }
    }),
  );
  for (const { nodeId } of cluster.brokers()) cluster.dropLane(nodeId, LANE, 'looked for other state topics');
  return [...topics].toSorted();
}

const LANE = 'other-states';
const TIMEOUT_MS = 5_000;
/** More than twice the heartbeat. */
const ALIVE_MS = 2_500;
