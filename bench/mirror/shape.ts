import { buildBatch } from '../../protocol/records/build.ts';
import { Codec } from '../../protocol/records/compression.ts';

/** What a drained topic looks like. */
export interface Shape {
  readonly name: string;
  readonly partitions: number;
  /** Largest size of a stored batch, as a producer's batch.size; the batches are less than a record smaller. */
  readonly batchBytes: number;
  readonly codec: 'none' | 'lz4';
}

const KIB = 1024;

export const SHAPES: readonly Shape[] = (['none', 'lz4'] as const).flatMap((codec) =>
  [16 * KIB, 512 * KIB].flatMap((batchBytes) =>
    [1, 8].map((partitions) => ({
      name: `${batchBytes / KIB}k-${codec}-${partitions}p`,
      partitions,
      batchBytes,
      codec,
    })),
  ),
);

export interface Template {
  /** One batch of an idempotent producer, to be sent again and again with its sequence put right. */
  readonly batch: Buffer;
  readonly records: number;
}

/** Records of 1 KiB, half of it random, half of it text, as many as make a batch of the wanted size when stored. */
export function templateOf(
  { batchBytes, codec }: Shape,
  producerId: bigint,
  producerEpoch: number,
): Template {
  const noise = noiseOf(batchBytes * 3);
  const build = (count: number): Buffer =>
    buildBatch({
      records: Array.from({ length: count }, (_, i) => ({
        timestamp: 1_700_000_000_000n,
        value: valueOf(noise, i),
      })),
      codec: codec === 'lz4' ? Codec.LZ4 : Codec.NONE,
      producerId,
      producerEpoch,
      baseSequence: 0,
    });
  let count = Math.max(1, Math.floor(batchBytes / (KIB + 64)) - 1);
  let batch = build(count);
  for (;;) {
    // Steps as large as is safe, so that a large batch is not built a thousand times.
    const more = Math.max(1, Math.floor(((batchBytes - batch.length) * count) / batch.length));
    const next = build(count + more);
    if (next.length > batchBytes) return { batch, records: count };
    batch = next;
    count += more;
  }
}

function valueOf(noise: Buffer, index: number): Buffer {
  const value = Buffer.alloc(KIB, 'a line of text as logs have it, with numbers 0123456789; ');
  noise.copy(value, 0, (index * 512) % (noise.length - 512), ((index * 512) % (noise.length - 512)) + 512);
  return value;
}

/** The same bytes each time: a figure shall not depend on luck. */
function noiseOf(length: number): Buffer {
  const noise = Buffer.alloc(length);
  let state = 1;
  for (let at = 0; at + 4 <= length; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    noise.writeInt32LE(state ^ (state >>> 13), at);
  }
  return noise;
}
