import type { In, Out } from '../wire.ts';

/** Bodies of the requests that gateway tests send, and what they read from the answers. */
export const API = {
  produce: 0,
  fetch: 1,
  listOffsets: 2,
  metadata: 3,
  findCoordinator: 10,
  apiVersions: 18,
  deleteTopics: 20,
  addPartitionsToTxn: 24,
  describeCluster: 60,
} as const;

export interface ProduceEntry {
  readonly topic: string;
  readonly partitions: readonly { readonly index: number; readonly records: Buffer | null }[];
}

/** Produce 3-13; `topic` is an id from 13 on. */
export function produceBody(
  version: number,
  entries: readonly ProduceEntry[],
  options: { acks?: number; transactionalId?: string | null } = {},
): (out: Out) => void {
  return (out) => {
    out
      .str(options.transactionalId ?? null)
      .i16(options.acks ?? -1)
      .i32(30_000);
    out.list(entries, ({ topic, partitions }) => {
      if (version >= 13) out.uuid(topic);
      else out.str(topic);
      out.list(partitions, ({ index, records }) => out.i32(index).bytes(records).tags()).tags();
    });
    out.tags();
  };
}

export interface ProduceAnswer {
  readonly topic: string;
  readonly index: number;
  readonly code: number;
  readonly base: number;
  readonly message: string | null;
}

export function readProduce(input: In, version: number): ProduceAnswer[] {
  const answers: ProduceAnswer[] = [];
  input.list(() => {
    const topic = version >= 13 ? input.uuid() : input.str();
    input.list(() => {
      const index = input.i32();
      const code = input.i16();
      const base = Number(input.i64());
      input.i64();
      if (version >= 5) input.i64();
      let message: string | null = null;
      if (version >= 8) {
        input.list(() => {
          input.i32();
          input.nstr();
          input.tags();
        });
        message = input.nstr();
      }
      input.tags();
      answers.push({ topic, index, code, base, message });
    });
    input.tags();
  });
  return answers;
}

/** Metadata of all topics (null) or of these, at version 9 or 12. */
export function metadataBody(version: number, topics: readonly string[] | null): (out: Out) => void {
  return (out) => {
    out.list(topics, (name) => {
      if (version >= 10) out.uuid('AAAAAAAAAAAAAAAAAAAAAA');
      out.str(name).tags();
    });
    out.bool(false);
    if (version >= 8 && version <= 10) out.bool(false);
    if (version >= 8) out.bool(false);
    out.tags();
  };
}

export interface MetadataAnswer {
  readonly brokers: { id: number; host: string; port: number }[];
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly topics: {
    code: number;
    name: string | null;
    topicId: string;
    partitions: { code: number; index: number; leader: number }[];
  }[];
}

export function readMetadata(input: In, version: number): MetadataAnswer {
  if (version >= 3) input.i32();
  const brokers = input.list(() => {
    const broker = { id: input.i32(), host: input.str(), port: input.i32() };
    if (version >= 1) input.nstr();
    input.tags();
    return broker;
  });
  const clusterId = version >= 2 ? input.nstr() : null;
  const controllerId = version >= 1 ? input.i32() : -1;
  const topics = input.list(() => {
    const code = input.i16();
    const name = input.nstr();
    const topicId = version >= 10 ? input.uuid() : '';
    if (version >= 1) input.bool();
    const partitions = input.list(() => {
      const partition = { code: input.i16(), index: input.i32(), leader: input.i32() };
      if (version >= 7) input.i32();
      input.list(() => input.i32());
      input.list(() => input.i32());
      if (version >= 5) input.list(() => input.i32());
      input.tags();
      return partition;
    });
    if (version >= 8) input.i32();
    input.tags();
    return { code, name, topicId, partitions };
  });
  return { brokers, clusterId, controllerId, topics };
}

export function readApiVersions(input: In): { code: number; ranges: Map<number, [number, number]> } {
  const code = input.i16();
  const ranges = new Map<number, [number, number]>();
  input.list(() => {
    ranges.set(input.i16(), [input.i16(), input.i16()]);
    input.tags();
  });
  return { code, ranges };
}

export function apiVersionsBody(software = 'test'): (out: Out) => void {
  return (out) => {
    out.str(software).str('1').tags();
  };
}

export interface FetchAsk {
  readonly topic: string;
  readonly index: number;
  readonly offset: number;
}

/** Fetch 4-18, one partition per topic entry; `topic` is an id from 13 on. */
export function fetchBody(
  version: number,
  asks: readonly FetchAsk[],
  options: { maxWaitMs?: number; committed?: boolean; maxBytes?: number } = {},
): (out: Out) => void {
  return (out) => {
    if (version <= 14) out.i32(-1);
    const maxBytes = options.maxBytes ?? 50_000_000;
    out
      .i32(options.maxWaitMs ?? 0)
      .i32(1)
      .i32(maxBytes)
      .i8(options.committed === true ? 1 : 0);
    if (version >= 7) out.i32(0).i32(-1);
    out.list(asks, ({ topic, index, offset }) => {
      if (version >= 13) out.uuid(topic);
      else out.str(topic);
      out.list([index], () => {
        out.i32(index);
        if (version >= 9) out.i32(-1);
        out.i64(offset);
        if (version >= 12) out.i32(-1);
        if (version >= 5) out.i64(-1);
        out.i32(maxBytes).tags();
      });
      out.tags();
    });
    if (version >= 7) out.list([], () => undefined);
    if (version >= 11) out.str('');
    out.tags();
  };
}

export interface FetchAnswer {
  readonly partitions: { topic: string; index: number; code: number; end: number; records: Buffer }[];
  readonly endpoints: { id: number; host: string; port: number }[];
}

export function readFetch(input: In, version: number): FetchAnswer {
  const partitions: FetchAnswer['partitions'] = [];
  input.i32();
  if (version >= 7) {
    input.i16();
    input.i32();
  }
  input.list(() => {
    const topic = version >= 13 ? input.uuid() : input.str();
    input.list(() => {
      const index = input.i32();
      const code = input.i16();
      const end = Number(input.i64());
      input.i64();
      if (version >= 5) input.i64();
      input.list(() => {
        input.i64();
        input.i64();
        input.tags();
      });
      if (version >= 11) input.i32();
      const records = Buffer.from(input.bytes() ?? Buffer.alloc(0));
      input.tags();
      partitions.push({ topic, index, code, end, records });
    });
    input.tags();
  });
  return { partitions, endpoints: readEndpoints(input) };
}

/** NodeEndpoints, tag 0 of the tagged fields that come next. */
export function readEndpoints(input: In): { id: number; host: string; port: number }[] {
  if (!input.flex) return [];
  const found: { id: number; host: string; port: number }[] = [];
  for (let left = input.uvar(); left > 0; left -= 1) {
    const tag = input.uvar();
    const size = input.uvar();
    const end = input.at + size;
    if (tag === 0) {
      input.list(() => {
        found.push({ id: input.i32(), host: input.str(), port: input.i32() });
        input.nstr();
        input.tags();
      });
    }
    input.at = end;
  }
  return found;
}
