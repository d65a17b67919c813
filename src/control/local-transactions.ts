import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, stockErrorName } from '../../protocol/errors.ts';
import { describeTransactionsApi } from '../../protocol/schema/65-describe-transactions.ts';
import { listTransactionsApi } from '../../protocol/schema/66-list-transactions.ts';
import { aclCommand } from '../net/acl-command.ts';
import type { Cluster } from '../net/cluster.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { textOf } from '../net/error-text.ts';

/**
 * Transactions of a cluster's own producers that have not ended. Whatever partition one names, with data or without,
 * gets a marker from its coordinator in the end: in a mirror topic that shifts every offset behind it, and until then
 * an open transaction with data pins the last stable offset and hides what is mirrored (DESIGN 5.4).
 */
export interface LocalTransaction {
  readonly transactionalId: string;
  /** As Kafka names it: `Ongoing`, `PrepareCommit`, `PrepareAbort`. */
  readonly state: string;
  readonly producerId: bigint;
  readonly partitions: readonly number[];
}

/** Of a whole cluster. */
export interface LocalTransactions {
  readonly byTopic: ReadonlyMap<string, readonly LocalTransaction[]>;
  /** Why there may be more that could not be seen, or null. */
  readonly unseen: string | null;
}

const LANE = 'transactions';
const TIMEOUT_MS = 5_000;
/** Brokers name the states so; those that have ended write no more markers. */
const NOT_ENDED = ['Ongoing', 'PrepareCommit', 'PrepareAbort'];
/** Transactional ids in one question. */
const AT_ONCE = 500;
/** A coordinator that has just moved is loading for a moment. */
const TRIES = 4;
const AGAIN_MS = 500;
const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
]);

/** Every broker is asked: each knows the transactions that it coordinates. Who asks meanwhile shares the next look. */
export class LocalTransactionsLook {
  readonly #cluster: Cluster;
  #running: Promise<LocalTransactions> | null = null;
  #next: Promise<LocalTransactions> | null = null;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Begun after the call. @throws what `Cluster.connect` throws: no broker is known at all */
  look(): Promise<LocalTransactions> {
    if (this.#running === null) {
      this.#running = lookAtAll(this.#cluster).finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.look();
      });
    return this.#next;
  }
}

async function lookAtAll(cluster: Cluster): Promise<LocalTransactions> {
  await cluster.connect();
  const byTopic = new Map<string, LocalTransaction[]>();
  const faults: string[] = [];
  await Promise.all(
    cluster.brokers().map(async ({ nodeId }) => {
      try {
        const fault = await lookAtBroker(cluster, nodeId, byTopic);
        if (fault !== null) faults.push(fault);
      } catch (error) {
        cluster.dropLane(nodeId, LANE, 'no answer about transactions');
        faults.push(`broker ${nodeId}: ${textOf(error)}`);
      }
    }),
  );
  const unseen =
    faults.length === 0
      ? null
      : `whether local transactions are open at ${cluster.name} is not known in full: ${[...new Set(faults)].join('; ')}`;
  return { byTopic, unseen };
}

/** @returns why not all of its transactions could be seen, or null */
async function lookAtBroker(
  cluster: Cluster,
  nodeId: number,
  byTopic: Map<string, LocalTransaction[]>,
): Promise<string | null> {
  const connection = await cluster.connection(nodeId, LANE, { connectTimeoutMs: TIMEOUT_MS });
  for (let tries = 1; ; tries += 1) {
    const listed = await connection.call(
      listTransactionsApi,
      { stateFilters: NOT_ENDED, producerIdFilters: [] },
      { timeoutMs: TIMEOUT_MS },
    );
    let code = listed.errorCode;
    if (code === ErrorCode.NONE) {
      const ids = listed.transactionStates.map(({ transactionalId }) => transactionalId);
      const seen = await describeAll(connection, ids);
      if (seen.passing === null) {
        for (const [topic, one] of seen.found) byTopic.set(topic, [...(byTopic.get(topic) ?? []), one]);
        return seen.hidden ? hiddenText() : null;
      }
      code = seen.passing;
    }
    if (!PASSING.has(code) || tries >= TRIES) return `broker ${nodeId} answered ${stockErrorName(code)}`;
    await delay(AGAIN_MS);
  }
}

interface Described {
  readonly found: readonly (readonly [string, LocalTransaction])[];
  /** Some ids are kept from this principal. */
  readonly hidden: boolean;
  /** The coordinator is moving: what was found is not all. */
  readonly passing: number | null;
}

async function describeAll(connection: BrokerConnection, ids: readonly string[]): Promise<Described> {
  // A list leaves out what its asker may not see, without a word. An id that nobody has tells: who may describe any
  // id is told that it is not there, or not here.
  const nobodys = `isthmus-looks-for-local-transactions-${randomUUID()}`;
  const found: [string, LocalTransaction][] = [];
  let hidden = false;
  let passing: number | null = null;
  for (let from = 0; from === 0 || from < ids.length; from += AT_ONCE) {
    const asked = ids.slice(from, from + AT_ONCE);
    const answer = await connection.call(
      describeTransactionsApi,
      { transactionalIds: from === 0 ? [nobodys, ...asked] : asked },
      { timeoutMs: TIMEOUT_MS },
    );
    for (const one of answer.transactionStates) {
      const { errorCode, transactionalId, transactionState: state, producerId } = one;
      if (errorCode === ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) hidden = true;
      else if (transactionalId === nobodys) continue;
      else if (PASSING.has(errorCode)) passing = errorCode;
      if (errorCode !== ErrorCode.NONE || !NOT_ENDED.includes(state)) continue;
      for (const { topic, partitions } of one.topics) {
        found.push([
          topic,
          { transactionalId, state, producerId, partitions: [...partitions].sort(ascending) },
        ]);
      }
    }
  }
  return { found, hidden, passing };
}

function ascending(a: number, b: number): number {
  return a - b;
}

function hiddenText(): string {
  return `not every transactional id may be described; grant it with: ${aclCommand(['DESCRIBE'], "--transactional-id '*'")}`;
}

/** One sentence that names the transactions and the way out, or null when there are none. */
export function localTransactionsText(
  topic: string,
  cluster: { readonly name: string; readonly bootstrap: string },
  { byTopic }: LocalTransactions,
): string | null {
  const found = byTopic.get(topic) ?? [];
  const [first] = found;
  if (first === undefined) return null;
  const each = found
    .slice(0, 5)
    .map(
      ({ transactionalId, state, producerId, partitions }) =>
        `transactional id '${transactionalId}' (${state}, producer id ${producerId}) in partition ${partitions.join(', ')}`,
    );
  if (found.length > each.length) each.push(`and ${found.length - each.length} more`);
  const tool = `kafka-transactions.sh --bootstrap-server ${cluster.bootstrap}`;
  const id = `--transactional-id '${first.transactionalId}'`;
  return (
    `a local transaction is open on topic ${topic} at ${cluster.name}: ${each.join('; ')}; its marker would stand in ` +
    `the mirror. See it with: ${tool} describe ${id}; let its application end it, or end it with: ${tool} ` +
    `forceTerminateTransaction --transactionalId '${first.transactionalId}' (newer releases have it, 4.4 does); then ` +
    'delete the topic, which holds its marker by then'
  );
}
