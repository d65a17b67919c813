import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import * as channels from './channels.ts';

/**
 * Metrics as plain numbers: counting is one addition in an object (a prom-client step costs 93 ns, this 3), and
 * prom-client only writes the text when somebody asks. Names follow Prometheus: unit in the name, `_total` for counts.
 */
export interface Slot {
  value: number;
}

export interface CounterFamily {
  /** The slot of these label values, in the order of the label names; keep it where it is counted often. */
  slot(...labels: readonly string[]): Slot;
  add(amount: number, ...labels: readonly string[]): void;
}

/** One partition as the gauges show it; -1 = not known (no sample is written then). */
export interface PartitionSample {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly state: string;
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  readonly lag: number;
  readonly held: number;
  readonly requestAgeMs: number;
  readonly counts: Readonly<Record<string, number>> | null;
  /** Principals that may write past the gateways; null = not known. */
  readonly directWriters?: readonly string[] | null;
}

const SEPARATOR = '\u0000';

export class Metrics {
  readonly #registry = new Registry();
  readonly #ends: (() => void)[] = [];

  constructor(options: { readonly processMetrics: boolean } = { processMetrics: true }) {
    if (options.processMetrics) collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): CounterFamily {
    const slots = new Map<string, Slot>();
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [key, { value }] of slots) this.inc(labelsOf(labelNames, key.split(SEPARATOR)), value);
      },
    });
    void counter;
    const slot = (...labels: readonly string[]): Slot => {
      const key = labels.join(SEPARATOR);
      let found = slots.get(key);
      if (found === undefined) {
        found = { value: 0 };
        slots.set(key, found);
      }
      return found;
    };
    return {
      slot,
      add(amount, ...labels) {
        slot(...labels).value += amount;
      },
    };
  }

  /** Samples are asked for at each rendering. */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: () => Iterable<{ readonly labels: readonly string[]; readonly value: number }>,
  ): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, value } of samples()) this.set(labelsOf(labelNames, labels), value);
      },
    });
    void gauge;
  }

  /** Counts what the channels tell. */
  watchChannels(): void {
    const count = <T>(
      channel: channels.TypedChannel<T>,
      name: string,
      help: string,
      labelNames: readonly string[],
      labels: (message: T) => readonly string[],
    ): void => {
      const family = this.counter(name, help, labelNames);
      this.#ends.push(channel.subscribe((message) => family.add(1, ...labels(message))));
    };
    count(
      channels.connectionOpened,
      'isthmus_connections_opened_total',
      'Connections that were opened or accepted.',
      ['side', 'owner'],
      (m) => [m.side, m.owner],
    );
    count(
      channels.connectionClosed,
      'isthmus_connections_closed_total',
      'Ends of connections, by their name.',
      ['side', 'owner', 'cause'],
      (m) => [m.side, m.owner, m.cause],
    );
    count(
      channels.connectionRefused,
      'isthmus_connections_refused_total',
      'Connections closed before they were served.',
      ['owner', 'reason'],
      (m) => [m.owner, m.reason],
    );
    count(
      channels.gatewayRefused,
      'isthmus_gateway_refused_requests_total',
      'Requests that a gateway answered itself with an error.',
      ['gateway', 'api', 'error'],
      (m) => [m.gateway, m.api, m.error],
    );
    count(
      channels.partitionStateChanged,
      'isthmus_partition_state_changes_total',
      'State changes of mirror partitions, by the state entered.',
      ['mirror', 'to'],
      (m) => [m.mirror, m.to],
    );
    count(
      channels.appendUnclear,
      'isthmus_append_unclear_total',
      'Appends whose outcome was not known.',
      ['mirror'],
      (m) => [m.mirror],
    );
    count(
      channels.appendSettled,
      'isthmus_append_settled_total',
      'Unclear appends that were settled, by how.',
      ['mirror', 'by'],
      (m) => [m.mirror, m.by],
    );
    count(
      channels.tailLost,
      'isthmus_destination_tail_lost_total',
      'Ends of mirrored partitions that the destination lost after it had acknowledged them.',
      ['mirror'],
      (m) => [m.mirror],
    );
    count(
      channels.audit,
      'isthmus_verbs_total',
      'Verbs that were asked for, by outcome.',
      ['verb', 'outcome'],
      (m) => [m.verb, m.outcome],
    );
    count(
      channels.syncError,
      'isthmus_task_errors_total',
      'Errors of background tasks.',
      ['mirror', 'task'],
      (m) => [m.mirror, m.task],
    );
  }

  /** Gauges and counts of every mirror partition, from rows that are asked for at each rendering. */
  watchPartitions(rows: () => Iterable<PartitionSample>): void {
    const labels = ['mirror', 'topic', 'partition'];
    const known = (name: string, help: string, pick: (row: PartitionSample) => number): void => {
      this.gauge(name, help, labels, function* () {
        for (const row of rows()) {
          const value = pick(row);
          if (value >= 0) yield { labels: [row.mirror, row.topic, String(row.partition)], value };
        }
      });
    };
    known(
      'isthmus_partition_source_offset',
      'High watermark of the source partition.',
      (row) => row.sourceOffset,
    );
    known(
      'isthmus_partition_destination_offset',
      'Log end offset of the destination partition.',
      (row) => row.destinationOffset,
    );
    known(
      'isthmus_partition_lag_offsets',
      'Source high watermark minus destination log end.',
      (row) => row.lag,
    );
    known(
      'isthmus_partition_held_offsets',
      'Source high watermark minus source last stable offset.',
      (row) => row.held,
    );
    known(
      'isthmus_partition_append_age_seconds',
      'Age of the append in progress, 0 for none.',
      (row) => row.requestAgeMs / 1000,
    );
    this.gauge(
      'isthmus_partition_state',
      '1 for the state that the partition is in.',
      [...labels, 'state'],
      function* () {
        for (const row of rows())
          yield { labels: [row.mirror, row.topic, String(row.partition), row.state], value: 1 };
      },
    );
    this.gauge(
      'isthmus_mirror_topic_direct_writer',
      '1 for each principal that may write to the mirror topic past the gateways, by ACLs; anyone = no authorizer.',
      ['mirror', 'topic', 'principal'],
      function* () {
        const told = new Set<string>();
        for (const { mirror, topic, directWriters } of rows()) {
          for (const principal of directWriters ?? []) {
            const key = [mirror, topic, principal].join(SEPARATOR);
            if (told.has(key)) continue;
            told.add(key);
            yield { labels: [mirror, topic, principal], value: 1 };
          }
        }
      },
    );
    this.gauge(
      'isthmus_partition_appended',
      'What this process appended since it started, by kind (batches, bytes, markers).',
      [...labels, 'kind'],
      function* () {
        for (const row of rows()) {
          for (const [kind, value] of Object.entries(row.counts ?? {})) {
            yield { labels: [row.mirror, row.topic, String(row.partition), kind], value };
          }
        }
      },
    );
  }

  close(): void {
    for (const end of this.#ends.splice(0)) end();
    this.#registry.clear();
  }
}

function labelsOf(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}
