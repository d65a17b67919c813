import type { SeenRequest } from '../harness/frame-proxy.ts';

/** Kafka's keys of the requests that a mirror appends with. */
export const PRODUCE = 0;
export const WRITE_TXN_MARKERS = 27;

export interface ProducedPartition {
  /** The topic's name, or from version 13 on its id in hexadecimal. */
  readonly topic: string;
  readonly partition: number;
  /** True when a batch claims another number of offsets than it has records: a probe, which no broker stores. */
  readonly doomed: boolean;
}

/** A run of markers that one request has for one partition, inert ones only: their ids tell their offsets. */
export interface MarkerRun {
  readonly topic: string;
  readonly partition: number;
  readonly markers: number;
  /** Lowest and highest offset named by a filler id, -(2^61) - offset; -1 when none of them is inert. */
  readonly first: number;
  readonly last: number;
}

const FILLER_BASE = -(2n ** 61n);

/** What a Produce request appends to. A parser of its own, so that what counts a test rests on nothing it tests. */
export function readProduce({ apiVersion, frame }: SeenRequest): ProducedPartition[] {
  const flexible = apiVersion >= 9;
  const read = new FieldReader(frame, flexible);
  read.text(); // transactional id
  read.pass(2 + 4); // acks, timeout
  const found: ProducedPartition[] = [];
  for (let topics = read.count(); topics > 0; topics--) {
    const topic = apiVersion >= 13 ? read.hex(16) : read.text();
    for (let partitions = read.count(); partitions > 0; partitions--) {
      const partition = read.int32();
      const records = read.bytes();
      found.push({ topic, partition, doomed: isDoomed(records) });
      read.tags();
    }
    read.tags();
  }
  return found;
}

export function readMarkers({ apiVersion, frame }: SeenRequest): MarkerRun[] {
  const read = new FieldReader(frame, apiVersion >= 1);
  const runs = new Map<string, { topic: string; partition: number; markers: number; offsets: number[] }>();
  for (let markers = read.count(); markers > 0; markers--) {
    const id = read.int64();
    read.pass(2 + 1); // producer epoch, result
    for (let topics = read.count(); topics > 0; topics--) {
      const topic = read.text();
      for (let partitions = read.count(); partitions > 0; partitions--) {
        const partition = read.int32();
        const key = `${topic}/${partition}`;
        const run = runs.get(key) ?? { topic, partition, markers: 0, offsets: [] };
        runs.set(key, run);
        run.markers++;
        if (id <= FILLER_BASE && id > 2n * FILLER_BASE) run.offsets.push(Number(FILLER_BASE - id));
      }
      read.tags();
    }
    read.pass(4); // coordinator epoch
    if (apiVersion >= 2) read.pass(1); // transaction version
    read.tags();
  }
  return [...runs.values()].map(({ topic, partition, markers, offsets }) => {
    const sorted = offsets.toSorted((a, b) => a - b);
    return { topic, partition, markers, first: sorted[0] ?? -1, last: sorted.at(-1) ?? -1 };
  });
}

/** The one batch of a probe is short; a real batch has as many records as offsets. */
function isDoomed(records: Buffer): boolean {
  return records.length >= 61 && records.readInt32BE(23) !== records.readInt32BE(57) - 1;
}

class FieldReader {
  readonly #frame: Buffer;
  readonly #flexible: boolean;
  #at = 8;

  /** Stands at the begin of the body: the client id, always in the old form, and the header's tags are behind it. */
  constructor(frame: Buffer, flexible: boolean) {
    this.#frame = frame;
    this.#flexible = flexible;
    this.#at += 2 + Math.max(0, frame.readInt16BE(8));
    this.tags();
  }

  pass(bytes: number): void {
    this.#at += bytes;
  }

  int32(): number {
    this.#at += 4;
    return this.#frame.readInt32BE(this.#at - 4);
  }

  int64(): bigint {
    this.#at += 8;
    return this.#frame.readBigInt64BE(this.#at - 8);
  }

  hex(bytes: number): string {
    this.#at += bytes;
    return this.#frame.toString('hex', this.#at - bytes, this.#at);
  }

  /** Null reads as the empty string. */
  text(): string {
    return this.#take(this.#flexible ? this.#varint() - 1 : this.#int16()).toString('utf8');
  }

  bytes(): Buffer {
    return this.#take(this.count());
  }

  count(): number {
    return this.#flexible ? this.#varint() - 1 : this.int32();
  }

  tags(): void {
    if (!this.#flexible) return;
    for (let tags = this.#varint(); tags > 0; tags--) {
      this.#varint();
      this.pass(this.#varint());
    }
  }

  #take(length: number): Buffer {
    const size = Math.max(0, length);
    this.#at += size;
    return this.#frame.subarray(this.#at - size, this.#at);
  }

  #int16(): number {
    this.#at += 2;
    return this.#frame.readInt16BE(this.#at - 2);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#frame.readUInt8(this.#at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
}
