import { createRequire } from 'node:module';
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { codecName } from './batch.ts';
import { RecordsError } from './errors.ts';
import { lz4FrameBound } from './lz4-frame.ts';
import { isXerialFramed, rawSnappySize, xerialBlocks } from './snappy-framing.ts';

/**
 * Compression for looking into batches and building them. Never on the path of mirrored or proxied bytes.
 *
 * Output is bounded: snappy and lz4 tell an upper bound before anything is decompressed, zstd often does, and
 * gzip and zstd stop at `maxOutputBytes`. Beside the output, zstd may hold a window of up to 128 MiB
 * (the largest that Kafka's highest level writes).
 *
 * lz4 and snappy come from packages with prebuilt binaries, loaded on first use: their errors are clean on
 * hostile input, which the WebAssembly codecs at hand can't say (a trap leaves them broken).
 */

export const Codec = { NONE: 0, GZIP: 1, SNAPPY: 2, LZ4: 3, ZSTD: 4 } as const;
export type Codec = (typeof Codec)[keyof typeof Codec];

/** Plain bytes that a batch may have unless the caller says otherwise: 128 MiB. */
export const DEFAULT_MAX_OUTPUT_BYTES = 128 * 1024 * 1024;

const ZSTD_MAX_WINDOW_LOG = 27;
const ZSTD_MAGIC = 0xfd2fb528;

const require = createRequire(import.meta.url);

/**
 * Decompresses the records section of a batch.
 * @throws RecordsError `unknown-codec`, `bad-compression`, `output-too-large`, `codec-missing`
 */
export function decompress(codec: number, bytes: Buffer, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES): Buffer {
  switch (codec) {
    case Codec.NONE:
      return bytes;
    case Codec.GZIP:
      return guarded(codec, () => gunzipSync(bytes, { maxOutputLength: atLeastOne(maxOutputBytes) }));
    case Codec.SNAPPY:
      return isXerialFramed(bytes)
        ? decompressXerial(bytes, maxOutputBytes)
        : decompressRawSnappy(bytes, maxOutputBytes);
    case Codec.LZ4: {
      const frame = lz4FrameBound(bytes);
      refuseAbove(frame.maxOutputBytes, maxOutputBytes, codec);
      // Readers of Kafka stop at the end mark, so what stands behind the frame is not handed on.
      return guarded(codec, () => lz4().decompressFrameSync(bytes.subarray(0, frame.frameBytes)));
    }
    case Codec.ZSTD: {
      const declared = zstdDeclaredSize(bytes);
      if (declared !== undefined) refuseAbove(declared, maxOutputBytes, codec);
      return guarded(codec, () =>
        zstdDecompressSync(bytes, {
          maxOutputLength: atLeastOne(maxOutputBytes),
          params: { [constants.ZSTD_d_windowLogMax]: ZSTD_MAX_WINDOW_LOG },
        }),
      );
    }
    default:
      throw new RecordsError('unknown-codec', `unknown compression codec ${codec}`);
  }
}

/**
 * Compresses a records section. Snappy is written raw, as librdkafka and franz-go do and every reader accepts.
 * @throws RecordsError `unknown-codec`, `codec-missing`
 */
export function compress(codec: number, bytes: Buffer): Buffer {
  switch (codec) {
    case Codec.NONE:
      return bytes;
    case Codec.GZIP:
      return gzipSync(bytes);
    case Codec.SNAPPY:
      return snappy().compressSync(bytes, { copyOutputData: true });
    case Codec.LZ4:
      return lz4().compressFrameSync(bytes);
    case Codec.ZSTD:
      return zstdCompressSync(bytes);
    default:
      throw new RecordsError('unknown-codec', `unknown compression codec ${codec}`);
  }
}

function decompressRawSnappy(bytes: Buffer, maxOutputBytes: number): Buffer {
  refuseAbove(rawSnappySize(bytes), maxOutputBytes, Codec.SNAPPY);
  return uncompressBlock(bytes);
}

function decompressXerial(bytes: Buffer, maxOutputBytes: number): Buffer {
  const blocks = xerialBlocks(bytes);
  let total = 0;
  for (const block of blocks) total += rawSnappySize(block);
  refuseAbove(total, maxOutputBytes, Codec.SNAPPY);
  return Buffer.concat(blocks.map(uncompressBlock), total);
}

function uncompressBlock(block: Buffer): Buffer {
  return guarded(Codec.SNAPPY, () =>
    snappy().uncompressSync(block, { copyOutputData: true, asBuffer: true }),
  );
}

function refuseAbove(bytes: number, maxOutputBytes: number, codec: number): void {
  if (bytes > maxOutputBytes) {
    throw new RecordsError(
      'output-too-large',
      `${codecName(codec)}: up to ${bytes} plain bytes, more than the ${maxOutputBytes} allowed`,
    );
  }
}

/** zlib takes no bound of zero; one byte too many is caught by the record reader. */
function atLeastOne(bytes: number): number {
  return Math.max(1, bytes);
}

function guarded(codec: number, run: () => Buffer): Buffer {
  try {
    return run();
  } catch (error) {
    if (error instanceof RecordsError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new RecordsError('output-too-large', `${codecName(codec)}: more plain bytes than allowed`);
    }
    throw new RecordsError('bad-compression', `${codecName(codec)}: ${(error as Error).message}`);
  }
}

/**
 * Content size in the header of a zstd frame (RFC 8878 section 3.1.1.1), or undefined when it has none or
 * the header is damaged, which decompressing will tell.
 */
function zstdDeclaredSize(bytes: Buffer): number | undefined {
  if (bytes.length < 5 || bytes.readUInt32LE(0) !== ZSTD_MAGIC) return undefined;
  const descriptor = bytes[4] as number;
  const singleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number;
  const sizeFlag = descriptor >> 6;
  const at = 5 + (singleSegment ? 0 : 1) + dictionaryBytes;
  const sizeBytes = sizeFlag === 0 ? (singleSegment ? 1 : 0) : 1 << sizeFlag;
  if (sizeBytes === 0 || bytes.length < at + sizeBytes) return undefined;
  if (sizeBytes === 1) return bytes[at] as number;
  if (sizeBytes === 2) return bytes.readUInt16LE(at) + 256;
  if (sizeBytes === 4) return bytes.readUInt32LE(at);
  return Number(bytes.readBigUInt64LE(at));
}

interface Lz4 {
  compressFrameSync(data: Buffer): Buffer;
  decompressFrameSync(data: Buffer): Buffer;
}

interface Snappy {
  compressSync(data: Buffer, options: { copyOutputData: boolean }): Buffer;
  uncompressSync(data: Buffer, options: { copyOutputData: boolean; asBuffer: boolean }): Buffer;
}

let loadedLz4: Lz4 | undefined;
let loadedSnappy: Snappy | undefined;

function lz4(): Lz4 {
  loadedLz4 ??= load<Lz4>('lz4-napi');
  return loadedLz4;
}

function snappy(): Snappy {
  loadedSnappy ??= load<Snappy>('snappy');
  return loadedSnappy;
}

function load<T>(name: string): T {
  try {
    return require(name) as T;
  } catch (error) {
    throw new RecordsError(
      'codec-missing',
      `package ${name} can't be loaded on this platform (${(error as Error).message.split('\n')[0]}); run npm ci`,
    );
  }
}
