import { open, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import {
  ATTRIBUTES_AT,
  BATCH_LENGTH_AT,
  LOG_OVERHEAD,
  MAGIC_AT,
  RECORDS_AT,
  isControl,
  storedCrc,
} from '../../protocol/records/batch.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import {
  type BatchDescription,
  batchLine,
  controlLine,
  describeBatch,
  describeLegacy,
} from '../../protocol/records/describe.ts';
import { lengthFault } from '../../protocol/records/walk.ts';
import { otherFileOfPartition } from './partition-files.ts';

/**
 * `isthmus dump PATH.log…`: the batches of segment files, one line each, a second one for what a control
 * batch holds. A file is read through one buffer of 1 MiB, whatever the size of file and batches.
 */

/** Where lines go; `write` may return a promise to slow the reader down. */
export interface LineSink {
  write(line: string): void | Promise<void>;
}

export interface DumpOptions {
  /** `json`: one object a line, `{file, position, …BatchDescription}`. Default `text`. */
  readonly format?: 'text' | 'json';
  /** Cluster ids that barriers may name. */
  readonly sourceClusterIds?: readonly string[];
}

export interface DumpResult {
  readonly batches: number;
  /** Every place that is not as it must be, `file:position: reason`; empty when all is well. */
  readonly faults: readonly string[];
}

const CHUNK_BYTES = 1024 * 1024;
/** Of magic 0 and 1, CRC-32 of all that follows it. */
const LEGACY_CRC_AT = 12;
/** Control batches up to this size are read whole and decoded. */
const MAX_CONTROL_BYTES = 64 * 1024;

/**
 * Prints the batches of each file. A damaged payload is reported and the walk goes on; a place where no batch
 * can begin ends that file only. Files that can't be opened are faults too. Throws only what `out` throws.
 */
export async function dumpFiles(
  paths: readonly string[],
  out: LineSink,
  options: DumpOptions = {},
): Promise<DumpResult> {
  const faults: string[] = [];
  let batches = 0;
  for (const path of paths) {
    if (options.format !== 'json' && paths.length > 1) await out.write(`${path}:`);
    const other = otherFileOfPartition(path);
    if (other !== undefined) {
      faults.push(`${path}: ${other}`);
      continue;
    }
    let file: FileHandle;
    try {
      file = await open(path, 'r');
    } catch (error) {
      faults.push(`${path}: can't be opened (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
      continue;
    }
    try {
      batches += await dumpFile(path, file, out, options, faults);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === undefined || (error as NodeJS.ErrnoException).syscall !== 'read') throw error;
      const advice = code === 'EISDIR' ? ': a folder, name the .log files in it' : '';
      faults.push(`${path}: can't be read (${code})${advice}`);
    } finally {
      await file.close();
    }
  }
  return { batches, faults };
}

async function dumpFile(
  path: string,
  file: FileHandle,
  out: LineSink,
  options: DumpOptions,
  faults: string[],
): Promise<number> {
  const window = new FileWindow(file);
  let position = 0;
  let batches = 0;
  let end = (await file.stat()).size;
  for (;;) {
    const left = await window.require(position, RECORDS_AT);
    if (left === 0) return batches;
    const at = window.indexOf(position);
    const reason = left < LOG_OVERHEAD ? `only ${left} bytes are left` : beginFault(window.bytes, at, left);
    if (reason !== undefined) {
      faults.push(`${path}:${position}: no batch can begin here: ${reason}${adviceFor(position)}`);
      return batches;
    }
    const size = LOG_OVERHEAD + window.bytes.readInt32BE(at + BATCH_LENGTH_AT);
    // A segment in use grows while it is read.
    if (position + size > end) end = (await file.stat()).size;
    if (position + size > end) {
      const why = `the batch needs ${size} bytes and ${end - position} are left`;
      faults.push(`${path}:${position}: ${why} (file cut short, or still being written)`);
      return batches;
    }
    if (position === 0 && (await isForeign(window, size))) {
      faults.push(`${path}:0: no log segment: it begins like a batch of an old format with a wrong CRC`);
      return batches;
    }
    const line = await describeAt(window, position, size, options, (fault) => {
      faults.push(`${path}:${position}: ${fault}`);
    });
    await emit(out, path, position, line, options);
    position += size;
    batches++;
  }
}

/** Bytes that only by chance look like a batch of magic 0 or 1: of those no segment says more than their CRC. */
async function isForeign(window: FileWindow, size: number): Promise<boolean> {
  const at = window.indexOf(0);
  if (window.bytes.readInt8(at + MAGIC_AT) >= 2) return false;
  const stored = window.bytes.readUInt32BE(at + LEGACY_CRC_AT);
  return stored !== (await window.crcOf(MAGIC_AT, size, (bytes, before) => crc32(bytes, before)));
}

/** What stands at the position, as text lines and as an object. */
interface Described {
  readonly lines: readonly string[];
  readonly json: object;
}

async function describeAt(
  window: FileWindow,
  position: number,
  size: number,
  options: DumpOptions,
  fault: (reason: string) => void,
): Promise<Described> {
  const head = Buffer.from(
    window.bytes.subarray(window.indexOf(position), window.indexOf(position) + RECORDS_AT),
  );
  if (head.readInt8(MAGIC_AT) < 2) {
    const legacy = describeLegacy(head, 0);
    return {
      lines: [`offset ${legacy.offset}  size ${legacy.size}  magic ${legacy.magic}  ${legacy.codec}`],
      json: legacy,
    };
  }
  const crcValid = (await window.crcOf(position + ATTRIBUTES_AT, position + size)) === storedCrc(head, 0);
  let batch: BatchDescription;
  if (isControl(head, 0) && size <= MAX_CONTROL_BYTES) {
    await window.require(position, size);
    batch = describeBatch(window.bytes, window.indexOf(position), { ...options, crcValid });
  } else {
    batch = describeBatch(head, 0, { ...options, crcValid });
  }
  if (!crcValid) fault(`CRC of the batch at offset ${batch.baseOffset} is wrong`);
  if (batch.fault !== undefined) fault(batch.fault);
  if (batch.control?.unreadable !== undefined) fault(batch.control.unreadable);
  const control = batch.control === undefined ? [] : [`  | ${controlLine(batch.control)}`];
  return { lines: [batchLine(batch), ...control], json: batch };
}

async function emit(
  out: LineSink,
  path: string,
  position: number,
  described: Described,
  options: DumpOptions,
): Promise<void> {
  if (options.format === 'json') {
    await out.write(JSON.stringify({ file: path, position, ...described.json }));
    return;
  }
  const [first, ...rest] = described.lines;
  await out.write(`position ${position}  ${first}`);
  for (const line of rest) await out.write(line);
}

function beginFault(bytes: Buffer, at: number, left: number): string | undefined {
  const length = bytes.readInt32BE(at + BATCH_LENGTH_AT);
  return lengthFault(length, left > MAGIC_AT ? bytes.readInt8(at + MAGIC_AT) : undefined);
}

function adviceFor(position: number): string {
  return position === 0 ? ' (is this a .log segment of a partition?)' : '';
}

/** A window of 1 MiB over a file that moves forward, and back within itself. */
class FileWindow {
  readonly bytes = Buffer.alloc(CHUNK_BYTES);
  readonly #file: FileHandle;
  #start = 0;
  #length = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  indexOf(position: number): number {
    return position - this.#start;
  }

  /** Makes `[position, position + count)` readable at `indexOf(position)`; returns the bytes there are of it. */
  async require(position: number, count: number): Promise<number> {
    const held = this.#start + this.#length - position;
    if (position >= this.#start && held >= count) return count;
    const kept = position >= this.#start && held > 0 ? held : 0;
    if (kept > 0) this.bytes.copyWithin(0, position - this.#start, this.#length);
    this.#start = position;
    this.#length = kept;
    while (this.#length < this.bytes.length) {
      const { bytesRead } = await this.#file.read(
        this.bytes,
        this.#length,
        this.bytes.length - this.#length,
        this.#start + this.#length,
      );
      if (bytesRead === 0) break;
      this.#length += bytesRead;
    }
    return Math.min(count, this.#length);
  }

  /** CRC-32C (or another) of `[from, to)` of the file, taken window by window; leaves the window where it ended. */
  async crcOf(
    from: number,
    to: number,
    step = (bytes: Buffer, before: number): number => crc32c(bytes, 0, bytes.length, before),
  ): Promise<number> {
    let crc = 0;
    for (let position = from; position < to; ) {
      await this.require(position, 1);
      const index = this.indexOf(position);
      const here = Math.min(this.#length - index, to - position);
      if (here <= 0) break;
      crc = step(this.bytes.subarray(index, index + here), crc);
      position += here;
    }
    return crc;
  }
}
