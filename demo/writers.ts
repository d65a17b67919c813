import { type JavaProcess, startJava } from '../test/harness/java.ts';
import type { KafkaVersion } from '../test/harness/kafka-home.ts';
import { flags } from '../test/harness/flags.ts';
import { PARTITIONS, TOPIC } from './stage.ts';

export interface Totals {
  readonly acked: number;
  readonly committed: number;
  readonly aborted: number;
  readonly committedTransactions: number;
  readonly abortedTransactions: number;
}

export interface Writing {
  readonly version: KafkaVersion;
  readonly bootstrap: string;
  /** Records of each of the three kinds. */
  readonly counts: { readonly plain: number; readonly idempotent: number; readonly transactional: number };
  readonly transactionalId: string;
  readonly seed: number;
  /** Records a second of each kind; 0 = as fast as it goes. */
  readonly rate: number;
  /** Keep where each record was acknowledged, for `places`. */
  readonly acks?: boolean;
}

/** `committed`: of a committed transaction, or of a producer without transactions. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
  readonly committed: boolean;
}

/** Three Java processes, each with one producer for each of the five codecs: plain, idempotent, transactional. */
export class Writers {
  readonly #running: readonly JavaProcess[];

  constructor(writing: Writing) {
    const { version, bootstrap, counts, seed, rate } = writing;
    const start = (mode: string, count: number, at: number, more: readonly string[] = []): JavaProcess =>
      startJava(version, 'Produce.java', [
        ...flags({
          bootstrap,
          topic: TOPIC,
          partitions: PARTITIONS,
          mode,
          codec: 'all',
          count,
          seed: seed + at,
          rate,
          acks: writing.acks === true ? '' : undefined,
        }),
        ...more,
      ]);
    const id = writing.transactionalId;
    const transactions = flags({ 'transactional-id': id, 'records-per-txn': 80, 'abort-every': 5 });
    this.#running = [
      ...(counts.plain > 0 ? [start('plain', counts.plain, 0)] : []),
      start('idempotent', counts.idempotent, 1),
      start('transactional', counts.transactional, 2, transactions),
    ];
  }

  async started(): Promise<void> {
    await Promise.all(this.#running.map((writer) => writer.line(/^STARTED/)));
  }

  /** What was acknowledged, all writers together. @throws Error when one of them failed */
  async totals(): Promise<Totals> {
    const all = { acked: 0, committed: 0, aborted: 0, committedTransactions: 0, abortedTransactions: 0 };
    for (const writer of this.#running) {
      const { code } = await writer.ended;
      const last = writer.lines.at(-1) ?? '';
      if (code !== 0) throw new Error(`a writer ended with ${code}: ${writer.stderr().slice(-600)}`);
      const done = JSON.parse(last) as Record<keyof Totals, number>;
      for (const name of Object.keys(all) as (keyof Totals)[]) all[name] += done[name];
    }
    return all;
  }

  /** After `totals`, with `acks`: every acknowledged record. */
  places(): Place[] {
    const acks = this.#running.flatMap(({ lines }) => lines.filter((line) => line.includes('"fate"')));
    return acks.map((line) => {
      const { partition, offset, fate } = JSON.parse(line) as {
        partition: number;
        offset: number;
        fate: string;
      };
      return { partition, offset, committed: fate === 'commit' || fate === 'plain' };
    });
  }
}
