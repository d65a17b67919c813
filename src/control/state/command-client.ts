import { randomUUID } from 'node:crypto';
import type { Cluster } from '../../net/cluster.ts';
import { encodeRecord } from './codec.ts';
import { CommandProducer } from './command-producer.ts';
import { keyText } from './keys.ts';
import { StateClosed } from './retry.ts';
import {
  type CommandRecord,
  type NewCommand,
  type ResultRecord,
  StateTimeout,
  type Stored,
  type ViewChange,
} from './types.ts';

const DEADLINE_MS = 30_000;
/** The owner may take a command in its last moment and needs some time for it. */
const RESULT_GRACE_MS = 15_000;

/** The side that asks: appends a command and waits until its result is read, whoever the owner is. */
export class CommandClient {
  readonly #producer: CommandProducer;
  readonly #instanceId: string;
  readonly #closed: AbortSignal;
  readonly #waiting = new Map<string, (result: Stored<ResultRecord>) => void>();

  constructor(cluster: Cluster, topic: string, instanceId: string, closed: AbortSignal) {
    this.#producer = new CommandProducer(cluster, topic, closed);
    this.#instanceId = instanceId;
    this.#closed = closed;
  }

  /** @throws StateTimeout, StateClosed, StateUnusable, StateWriteRefused */
  async submit(command: NewCommand): Promise<Stored<ResultRecord>> {
    const now = Date.now();
    const deadlineMs = command.deadlineMs ?? DEADLINE_MS;
    const record: CommandRecord = {
      kind: 'command',
      id: randomUUID(),
      verb: command.verb,
      mirror: command.mirror ?? '',
      topics: command.topics ?? [],
      all: command.all ?? false,
      options: JSON.stringify(command.options ?? {}),
      issuedAt: now,
      deadline: now + deadlineMs,
      issuer: command.issuer ?? this.#instanceId,
      begunAt: 0,
    };
    const answered = this.#resultOf(record, deadlineMs + RESULT_GRACE_MS);
    answered.catch(() => undefined);
    const signal = AbortSignal.any([this.#closed, AbortSignal.timeout(deadlineMs)]);
    try {
      await this.#producer.append({ key: keyText(record), value: encodeRecord(record, 0) }, signal);
    } catch (error) {
      // past the deadline without an acknowledgement, it may still be in the log: then its result tells
      if (!(error instanceof StateClosed)) {
        this.#waiting.delete(record.id);
        throw error;
      }
    }
    return answered;
  }

  /** Results that were read. */
  take(changes: readonly ViewChange[]): void {
    for (const { record } of changes) {
      if (record?.kind !== 'result') continue;
      this.#waiting.get(record.id)?.(record);
    }
  }

  #resultOf(command: CommandRecord, withinMs: number): Promise<Stored<ResultRecord>> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(command.id);
        this.#closed.removeEventListener('abort', closed);
      };
      const closed = (): void => {
        done();
        reject(new StateClosed('the state store was closed before the result came'));
      };
      const timer = setTimeout(() => {
        done();
        reject(
          new StateTimeout(
            `no result of ${command.verb} within ${withinMs / 1000} s: no instance runs for this destination, or its ` +
              'state topic is out of reach. The command may have been taken all the same',
          ),
        );
      }, withinMs);
      this.#closed.addEventListener('abort', closed, { once: true });
      this.#waiting.set(command.id, (result) => {
        done();
        resolve(result);
      });
    });
  }
}
