import { type JavaProcess, startJava } from '../harness/java.ts';
import type { KafkaVersion } from '../harness/kafka-home.ts';

export interface LoadOptions {
  readonly version: KafkaVersion;
  readonly bootstrap: string;
  readonly topic: string;
  readonly partitions: number;
  readonly seed: number;
}

/** What a producer process says that it did, of test/java/Produce.java. */
export interface Produced {
  readonly acked: number;
  readonly committed: number;
  readonly aborted: number;
  readonly committedTransactions: number;
  readonly abortedTransactions: number;
}

/** Java producers that write all kinds of batches at a steady rate until they are told to stop. */
export class Load {
  readonly #processes: readonly JavaProcess[];

  constructor({ version, bootstrap, topic, partitions, seed }: LoadOptions) {
    const start = (index: number, ...args: string[]): JavaProcess => {
      const common = ['--bootstrap', bootstrap, '--topic', topic, '--count', '1', '--until-stop'];
      return startJava(version, 'Produce.java', [...common, '--seed', String(seed * 10 + index), ...args]);
    };
    const all = ['--partitions', String(partitions)];
    this.#processes = [
      // Transactions of five producers and codecs, interleaved in every partition, each third aborted.
      start(
        0,
        ...all,
        '--mode',
        'transactional',
        '--codec',
        'all',
        '--transactional-id',
        'mixed',
        '--records-per-txn',
        '30',
        '--abort-every',
        '3',
        '--rate',
        '60',
      ),
      start(1, ...all, '--mode', 'idempotent', '--codec', 'all', '--rate', '30'),
      start(2, ...all, '--mode', 'plain', '--codec', 'all', '--rate', '20'),
      // A transaction is one batch of 600 records, each second aborted: long runs of inert markers.
      start(
        3,
        '--partitions',
        '0,',
        '--mode',
        'transactional',
        '--transactional-id',
        'runs',
        '--codec',
        'lz4',
        '--records-per-txn',
        '600',
        '--abort-every',
        '2',
        '--rate',
        '150',
        '--value-size',
        '30',
        '--config',
        'linger.ms=5000',
        '--config',
        'batch.size=131072',
      ),
    ];
  }

  /** Settles when each of them has written something. */
  async started(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.line(/^STARTED/)));
  }

  /** Throws when one has ended by itself: without it the run would show less than it says. */
  check(): void {
    for (const { child, stderr } of this.#processes) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`a producer of the load ended by itself\n${stderr()}`);
      }
    }
  }

  /** Lets every producer end its transaction; gives the sums of what they did. */
  async stop(): Promise<Produced> {
    for (const { stdin } of this.#processes) stdin.end('stop\n');
    const sums = { acked: 0, committed: 0, aborted: 0, committedTransactions: 0, abortedTransactions: 0 };
    for (const one of this.#processes) {
      const { code } = await one.ended;
      if (code !== 0) throw new Error(`a producer of the load failed\n${one.stderr()}`);
      const done = JSON.parse(one.lines.at(-1) ?? '{}') as Produced;
      for (const name of Object.keys(sums) as (keyof Produced)[]) sums[name] += done[name];
    }
    return sums;
  }

  async kill(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.kill()));
  }
}
