import { textOf } from './error-text.ts';

/**
 * Kafka frames out of a byte stream: `int32 size, size bytes`.
 *
 * A frame is delivered as ONE Buffer that holds its bytes after the size and belongs to the receiver. Two ways in:
 *
 *  - `target()` / `filled(n)` for sockets that read into a buffer of ours (`onread`): sizes and small frames pass
 *    through a scratch area and are copied once; of a frame that is not wholly there, only what lay in the scratch
 *    is copied and the rest is read straight into the frame's own buffer.
 *  - `push(chunk)` for sockets that hand out fresh chunks (accepted ones): a frame that lies wholly in a chunk is a
 *    view on it, others are copied once into their own buffer.
 *
 * Memory held: the frame being filled (at most `cap` bytes, of which only the arrived part is touched), plus, while
 * paused, what was left of the last read (at most one scratch or chunk of 64 KiB).
 */

export type FrameFault =
  | { readonly kind: 'oversize-frame'; readonly detail: string }
  | { readonly kind: 'bad-frame'; readonly detail: string }
  | { readonly kind: 'tls-bytes'; readonly detail: string }
  | { readonly kind: 'http-bytes'; readonly detail: string };

export interface FrameAssemblerOptions {
  /** Largest frame accepted, in bytes after the size field. */
  readonly cap: number;
  /** Smallest frame that can be one: 8 for requests, 4 for responses. */
  readonly smallest: number;
  readonly onFrame: (frame: Buffer) => void;
  readonly onFault: (fault: FrameFault) => void;
  /** Gives the buffer for the next frame, exactly `size` bytes long. Default: a fresh one. */
  readonly allocate?: (size: number) => Buffer;
}

const SCRATCH_BYTES = 64 * 1024;
// libuv on Unix fills the buffer in the same turn in which it calls back, so all connections of a thread can share
// one scratch. On Windows a read is posted ahead, so each connection needs its own.
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(SCRATCH_BYTES);

const METHODS = ['GET ', 'POST', 'PUT ', 'HEAD', 'DELE', 'OPTI', 'PATC', 'CONN', 'PRI ', 'HTTP', 'TRAC'];

/** Names what stands where a frame size should: TLS or HTTP read as a size is an absurd number (case P23). */
export function recogniseFirstBytes(size: number): FrameFault | null {
  const b0 = (size >>> 24) & 0xff;
  const b1 = (size >>> 16) & 0xff;
  if (b0 >= 0x14 && b0 <= 0x17 && b1 === 0x03 && ((size >>> 8) & 0xff) <= 0x04) {
    const what = b0 === 0x16 ? 'handshake' : b0 === 0x15 ? 'alert' : 'record';
    return {
      kind: 'tls-bytes',
      detail: `a TLS record (${what}) came where a Kafka frame size was expected: one side speaks TLS and the other plain text`,
    };
  }
  const text = String.fromCharCode(b0, b1, (size >>> 8) & 0xff, size & 0xff);
  if (METHODS.includes(text)) {
    return {
      kind: 'http-bytes',
      detail: `HTTP ("${text.trim()}") came where a Kafka frame size was expected: this is a Kafka port`,
    };
  }
  return null;
}

export class FrameAssembler {
  readonly #options: FrameAssemblerOptions;
  readonly #scratch: Buffer;
  /** Frame being filled, or null while its size is not known. */
  #frame: Buffer | null = null;
  #have = 0;
  /** Size bytes seen so far, when a read ended inside them. */
  #size = 0;
  #sizeBytes = 0;
  #first = true;
  #stopped = false;
  #paused = false;
  #left: Buffer | null = null;
  #intoFrame = false;

  constructor(options: FrameAssemblerOptions) {
    this.#options = options;
    this.#scratch = shared ?? Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  }

  /** Bytes held of an unfinished frame and of frames kept back while paused. */
  get bytesBuffered(): number {
    return this.#have + (this.#left?.length ?? 0);
  }

  /** true when the stream ends between frames. */
  get atFrameEdge(): boolean {
    return this.#frame === null && this.#sizeBytes === 0 && this.#left === null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Where the next read must go. Ask anew after each `filled`. */
  target(): Buffer {
    const frame = this.#frame;
    this.#intoFrame = frame !== null;
    return frame === null ? this.#scratch : frame.subarray(this.#have);
  }

  /** `n` bytes were read into the buffer of the last `target()`. */
  filled(n: number): void {
    if (this.#stopped) return;
    if (!this.#intoFrame) {
      this.#consume(this.#scratch, n, true);
      return;
    }
    this.#have += n;
    const frame = this.#frame;
    if (frame !== null && this.#have === frame.length) this.#complete(frame);
  }

  /** A chunk that belongs to us from now on. */
  push(chunk: Buffer): void {
    if (this.#stopped) return;
    if (this.#left !== null) {
      this.#left = Buffer.concat([this.#left, chunk]);
      return;
    }
    this.#consume(chunk, chunk.length, false);
  }

  /** No frame is delivered until `resume`, not even one that has arrived. */
  pause(): void {
    this.#paused = true;
  }

  /** Delivers what was kept back; the receiver may pause again meanwhile. */
  resume(): void {
    this.#paused = false;
    const left = this.#left;
    if (left === null || this.#stopped) return;
    this.#left = null;
    this.#consume(left, left.length, false);
  }

  /** Nothing is delivered any more; what comes is dropped. */
  stop(): void {
    this.#stopped = true;
    this.#paused = false;
    this.#frame = null;
    this.#left = null;
    this.#have = 0;
  }

  #consume(bytes: Buffer, end: number, borrowed: boolean): void {
    let at = 0;
    while (at < end && !this.#stopped) {
      if (this.#paused) {
        this.#left = borrowed ? Buffer.from(bytes.subarray(at, end)) : bytes.subarray(at, end);
        return;
      }
      const frame = this.#frame;
      if (frame !== null) {
        const part = Math.min(frame.length - this.#have, end - at);
        bytes.copy(frame, this.#have, at, at + part);
        this.#have += part;
        at += part;
        if (this.#have === frame.length) this.#complete(frame);
        continue;
      }
      while (this.#sizeBytes < 4 && at < end) {
        this.#size = (this.#size << 8) | (bytes[at] as number);
        this.#sizeBytes += 1;
        at += 1;
      }
      if (this.#sizeBytes < 4) return;
      const size = this.#size;
      if (!this.#sizeIsGood(size)) return;
      this.#first = false;
      this.#size = 0;
      this.#sizeBytes = 0;
      if (!borrowed && this.#options.allocate === undefined && size <= end - at) {
        this.#options.onFrame(bytes.subarray(at, at + size));
        at += size;
        continue;
      }
      this.#have = 0;
      this.#frame = this.#allocated(size);
    }
  }

  #allocated(size: number): Buffer | null {
    try {
      return this.#options.allocate?.(size) ?? Buffer.allocUnsafe(size);
    } catch (error) {
      const why = textOf(error);
      this.stop();
      this.#options.onFault({
        kind: 'oversize-frame',
        detail: `no memory for a frame of ${size} bytes: ${why}`,
      });
      return null;
    }
  }

  #complete(frame: Buffer): void {
    this.#frame = null;
    this.#have = 0;
    this.#options.onFrame(frame);
  }

  #sizeIsGood(size: number): boolean {
    const { cap, smallest } = this.#options;
    if (size >= smallest && size <= cap && !(this.#first && size > 0x14000000)) return true;
    const foreign = recogniseFirstBytes(size);
    let fault: FrameFault;
    if (foreign !== null) fault = foreign;
    else if (size >= smallest && size <= cap) return true;
    else if (size > cap) {
      fault = { kind: 'oversize-frame', detail: `a frame of ${size} bytes was announced, the cap is ${cap}` };
    } else {
      fault = {
        kind: 'bad-frame',
        detail: `a frame size of ${size} was announced, the smallest is ${smallest}`,
      };
    }
    this.stop();
    this.#options.onFault(fault);
    return false;
  }
}
