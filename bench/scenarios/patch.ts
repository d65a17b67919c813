import { PRODUCER_ID_AT } from '../../protocol/records/batch.ts';
import { buildBatch } from '../../protocol/records/build.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import { mapProducerId, mapProducerIdInPlace } from '../../protocol/records/ids.ts';
import { isCrcValid } from '../../protocol/records/records.ts';
import { type Spread, alternate } from '../micro/measure.ts';
import type { Scenario, ScenarioOptions, ScenarioResult } from '../scenario.ts';

/**
 * What a batch costs on its way through: its producer id mapped and its CRC put right, by
 * `mapProducerIdInPlace` (the product's own hot function, CRC patched) and by writing the id and taking the
 * CRC of the whole batch anew with `crc-32`.
 *
 * One call = a fresh positive id written into the header (8 bytes, so that there is something to map), the
 * id mapped, the CRC stored. Two layouts:
 *   near  one batch over and over: all of it in the caches that hold it
 *   far   64 MiB of batches in turn, as they come out of responses: header and payload from memory
 * The limits are held against both.
 */

const KIB = 1024;
const SIZES = [KIB, 16 * KIB, 64 * KIB, 1024 * KIB];
const RING_BYTES = 64 * 1024 * KIB;
/** Rewriting over recomputing, at most. */
const LIMITS: ReadonlyMap<number, number> = new Map([
  [16 * KIB, 1 / 20],
  [1024 * KIB, 1 / 1000],
]);

interface Row {
  readonly bytes: number;
  readonly layout: 'near' | 'far';
  readonly rewriteNs: Spread;
  readonly recomputeNs: Spread;
  /** Rewrite over recompute, within each turn. */
  readonly ratio: Spread;
  readonly rounds: number;
}

interface Limit {
  readonly name: string;
  readonly limit: number;
  readonly measured: number;
  readonly ok: boolean;
}

export const scenario: Scenario = {
  name: 'patch',
  about: 'producer id and CRC of a batch rewritten in place, against recomputing the CRC with crc-32',
  async run(options: ScenarioOptions): Promise<ScenarioResult> {
    checkAgreement();
    const rows: Row[] = [];
    const limits: Limit[] = [];
    options.log('     size  layout   rewrite ns (p10-p90)     recompute ns (p10-p90)   recompute/rewrite');
    for (const bytes of SIZES) {
      for (const layout of ['near', 'far'] as const) {
        const row = await measure(bytes, layout, options);
        rows.push(row);
        options.log(line(row));
        const limit = LIMITS.get(bytes);
        if (limit !== undefined) limits.push(held(row, limit));
      }
    }
    for (const { name, ok, measured, limit } of limits) {
      options.log(
        `${ok ? 'ok    ' : 'FAILED'} ${name}: 1/${(1 / measured).toFixed(0)}, limit 1/${1 / limit}`,
      );
    }
    return { ok: limits.every((limit) => limit.ok), what: WHAT, rows, limits };
  },
};

const WHAT =
  'nanoseconds a batch: write an id, map it, store the CRC. rewrite = mapProducerIdInPlace; recompute = crc-32 ' +
  'over bytes 21 to the end. near = one batch in cache; far = 64 MiB of batches in turn';

async function measure(bytes: number, layout: 'near' | 'far', options: ScenarioOptions): Promise<Row> {
  const batch = batchOf(bytes);
  const count = layout === 'near' ? 1 : RING_BYTES / bytes;
  const ring = Buffer.alloc(count * bytes);
  for (let i = 0; i < count; i++) batch.copy(ring, i * bytes);

  const rewrite = (times: number): number => {
    let sink = 0;
    let at = 0;
    for (let i = 0; i < times; i++) {
      ring.writeInt32BE(i & 0xff, at + PRODUCER_ID_AT);
      ring.writeInt32BE(i, at + PRODUCER_ID_AT + 4);
      mapProducerIdInPlace(ring, at);
      sink ^= ring.readInt32BE(at + 17);
      at += bytes;
      if (at === ring.length) at = 0;
    }
    return sink;
  };
  const recompute = (times: number): number => {
    let sink = 0;
    let at = 0;
    for (let i = 0; i < times; i++) {
      // The id is mapped in halves here too: only the CRC is found another way.
      ring.writeInt32BE(~(i & 0xff), at + PRODUCER_ID_AT);
      ring.writeInt32BE((~i - 1) | 0, at + PRODUCER_ID_AT + 4);
      ring.writeUInt32BE(crc32c(ring, at + 21, at + bytes), at + 17);
      sink ^= ring.readInt32BE(at + 17);
      at += bytes;
      if (at === ring.length) at = 0;
    }
    return sink;
  };
  const { nanoseconds, ratios, rounds } = await alternate(
    [
      { name: 'rewrite', run: rewrite },
      { name: 'recompute', run: recompute },
    ],
    { rounds: options.quick ? 7 : 31, roundMs: options.quick ? 10 : 40, signal: options.signal },
  );
  const [rewriteNs, recomputeNs] = nanoseconds as [Spread, Spread];
  return { bytes, layout, rewriteNs, recomputeNs, ratio: ratios[0] as Spread, rounds };
}

/** A batch of exactly this many bytes, of 1 KiB values or one smaller value. */
function batchOf(bytes: number): Buffer {
  for (let size = bytes; size >= 0; size--) {
    const batch = buildBatch({
      records: [{ value: Buffer.alloc(size, 0x61) }],
      producerId: 1n,
      producerEpoch: 0,
    });
    if (batch.length === bytes) return batch;
    // From the overhead of a first try the right size is a few steps away.
    if (batch.length > bytes + 16) size -= batch.length - bytes - 16;
  }
  throw new Error(`no batch of ${bytes} bytes`);
}

/** Nothing is timed unless both ways give the same batch. */
function checkAgreement(): void {
  for (const bytes of SIZES) {
    const batch = batchOf(bytes);
    for (const id of [0n, 0xffff_ffffn, 2n ** 61n - 3n]) {
      const wanted = Buffer.from(batch);
      wanted.writeBigInt64BE(mapProducerId(id), PRODUCER_ID_AT);
      wanted.writeUInt32BE(crc32c(wanted, 21), 17);
      const patched = Buffer.from(batch);
      patched.writeBigInt64BE(id, PRODUCER_ID_AT);
      patched.writeUInt32BE(crc32c(patched, 21), 17);
      mapProducerIdInPlace(patched, 0);
      if (!patched.equals(wanted) || !isCrcValid(patched, 0))
        throw new Error(`wrong bytes at ${bytes}, id ${id}`);
    }
  }
}

function held(row: Row, limit: number): Limit {
  const measured = row.ratio.median;
  const name = `rewrite / recompute at ${sizeName(row.bytes)}, ${row.layout}`;
  return { name, limit, measured, ok: measured <= limit };
}

function line(row: Row): string {
  const spread = ({ median, p10, p90 }: Spread, width: number): string =>
    `${figure(median)} (${figure(p10)}-${figure(p90)})`.padStart(width);
  const factor = `${figure(1 / row.ratio.median)} (${figure(1 / row.ratio.p90)}-${figure(1 / row.ratio.p10)})`;
  const size = sizeName(row.bytes).padStart(9);
  return `${size}  ${row.layout.padEnd(6)} ${spread(row.rewriteNs, 21)} ${spread(row.recomputeNs, 26)}   ${factor}`;
}

function sizeName(bytes: number): string {
  return bytes >= 1024 * KIB ? `${bytes / KIB / KIB} MiB` : `${bytes / KIB} KiB`;
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}
