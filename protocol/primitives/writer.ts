/**
 * Writes Kafka's primitive types into one growing buffer.
 *
 * Like the reader, a writer goes bad once (a value that its type cannot hold) and is asked at the end; codecs turn
 * that into one ProtocolError. With `keepFrom`, byte fields of at least that size are not copied: they are kept as
 * references and handed out in place by `chunks()`, so record bytes pass through an encode untouched.
 */

import { ZERO_UUID } from './reader.ts';

interface Kept {
  /** Position in the writer's own buffer in front of which the bytes belong. */
  at: number;
  readonly bytes: Uint8Array;
}

export interface WriterOptions {
  /** First allocation in bytes (default 256). */
  readonly capacity?: number;
  /** Byte fields of at least this size are kept as references (default: never). */
  readonly keepFrom?: number;
}

export class Writer {
  #buf: Buffer;
  #at = 0;
  #kept: Kept[] = [];
  #keptBytes = 0;
  readonly #keepFrom: number;
  #reason: string | undefined;
  #path = '';

  constructor(options: WriterOptions = {}) {
    this.#buf = Buffer.allocUnsafe(Math.max(16, options.capacity ?? 256));
    this.#keepFrom = options.keepFrom ?? Number.POSITIVE_INFINITY;
  }

  get ok(): boolean {
    return this.#reason === undefined;
  }

  get badReason(): string | undefined {
    return this.#reason;
  }

  get badPath(): string {
    return this.#path;
  }

  bad(reason: string): void {
    this.#reason ??= reason;
  }

  /** See Reader.blame. */
  blame(segment: string): void {
    if (this.#path === '') this.#path = segment;
    else this.#path = this.#path.startsWith('[') ? segment + this.#path : `${segment}.${this.#path}`;
  }

  /** Bytes written so far, kept ones included. */
  get length(): number {
    return this.#at + this.#keptBytes;
  }

  /** Empties the writer and keeps its buffer: views from `bytes()` and `chunks()` become invalid. */
  reset(): void {
    this.#at = 0;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#reason = undefined;
    this.#path = '';
  }

  /** Everything written, as one buffer: a view that lives until the next write, or a copy if bytes were kept. */
  bytes(): Buffer {
    if (this.#kept.length === 0) return this.#buf.subarray(0, this.#at);
    return Buffer.concat(this.chunks());
  }

  /** Everything written, as views in order, kept byte fields among them; valid until the next write. */
  chunks(): Uint8Array[] {
    const out: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of this.#kept) {
      if (at > from) out.push(this.#buf.subarray(from, at));
      out.push(bytes);
      from = at;
    }
    if (this.#at > from || out.length === 0) out.push(this.#buf.subarray(from, this.#at));
    return out;
  }

  bool(value: boolean): void {
    this.#byte(value ? 1 : 0);
  }

  int8(value: number): void {
    if ((value << 24) >> 24 !== value) return this.#outside(value, 'int8');
    this.#byte(value & 0xff);
  }

  int16(value: number): void {
    if ((value << 16) >> 16 !== value) return this.#outside(value, 'int16');
    const at = this.#grow(2);
    this.#buf.writeInt16BE(value, at);
  }

  uint16(value: number): void {
    if ((value & 0xffff) !== value) return this.#outside(value, 'uint16');
    const at = this.#grow(2);
    this.#buf.writeUInt16BE(value, at);
  }

  int32(value: number): void {
    if ((value | 0) !== value) return this.#outside(value, 'int32');
    const at = this.#grow(4);
    this.#buf.writeInt32BE(value, at);
  }

  uint32(value: number): void {
    if (value >>> 0 !== value) return this.#outside(value, 'uint32');
    const at = this.#grow(4);
    this.#buf.writeUInt32BE(value, at);
  }

  int64(value: bigint): void {
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) return this.#outside(value, 'int64');
    const at = this.#grow(8);
    this.#buf.writeBigInt64BE(value, at);
  }

  /** An offset: a safe integer as int64. */
  offset64(value: number): void {
    if (!Number.isSafeInteger(value)) return this.#outside(value, 'offset');
    const high = Math.floor(value / 0x1_0000_0000);
    const at = this.#grow(8);
    this.#buf.writeInt32BE(high, at);
    this.#buf.writeUInt32BE(value - high * 0x1_0000_0000, at + 4);
  }

  float64(value: number): void {
    if (typeof value !== 'number') return this.#outside(value, 'float64');
    const at = this.#grow(8);
    this.#buf.writeDoubleBE(value, at);
  }

  uuid(value: string): void {
    if (typeof value !== 'string' || value.length !== 22)
      return this.#outside(value, 'uuid of 22 characters');
    const at = this.#grow(16);
    if (value === ZERO_UUID) this.#buf.fill(0, at, at + 16);
    else if (this.#buf.write(value, at, 16, 'base64url') !== 16) this.#outside(value, 'uuid');
  }

  uvarint(value: number): void {
    if (value >>> 0 !== value) return this.#outside(value, 'unsigned varint');
    let rest = value;
    while (rest > 0x7f) {
      this.#byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.#byte(rest);
  }

  varint(value: number): void {
    if ((value | 0) !== value) return this.#outside(value, 'varint');
    this.uvarint(((value << 1) ^ (value >> 31)) >>> 0);
  }

  uvarlong(value: bigint): void {
    if (typeof value !== 'bigint' || BigInt.asUintN(64, value) !== value) {
      return this.#outside(value, 'unsigned varlong');
    }
    let rest = value;
    while (rest > 0x7fn) {
      this.#byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.#byte(Number(rest));
  }

  varlong(value: bigint): void {
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value)
      return this.#outside(value, 'varlong');
    this.uvarlong(BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)));
  }

  string(value: string | null): void {
    if (value === null) return this.int16(-1);
    const size = this.#textSize(value);
    if (size < 0) return;
    if (size > 0x7fff) return this.#outside(`${size} bytes`, 'string of at most 32767 bytes');
    this.int16(size);
    this.#text(value, size);
  }

  compactString(value: string | null): void {
    if (value === null) return this.#byte(0);
    const size = this.#textSize(value);
    if (size < 0) return;
    this.uvarint(size + 1);
    this.#text(value, size);
  }

  bytesField(value: Uint8Array | null): void {
    if (value === null) return this.int32(-1);
    if (!this.#isBytes(value)) return;
    this.int32(value.length);
    this.raw(value);
  }

  compactBytesField(value: Uint8Array | null): void {
    if (value === null) return this.#byte(0);
    if (!this.#isBytes(value)) return;
    this.uvarint(value.length + 1);
    this.raw(value);
  }

  /** Bytes without a length in front: copied, or kept as a reference from `keepFrom` bytes on. */
  raw(value: Uint8Array): void {
    if (value.length >= this.#keepFrom) {
      this.#kept.push({ at: this.#at, bytes: value });
      this.#keptBytes += value.length;
      return;
    }
    const at = this.#grow(value.length);
    this.#buf.set(value, at);
  }

  /** Leaves four bytes for a length that `fillSize32` writes later. */
  beginSize32(): number {
    this.#grow(4);
    return this.length - 4;
  }

  /** Writes the number of bytes since `mark` (from `beginSize32`) into its hole. No kept bytes may lie before the mark. */
  fillSize32(mark: number): void {
    this.#buf.writeInt32BE(this.length - mark - 4, mark);
  }

  /**
   * Runs `body` and puts the size of what it wrote in front of it as an unsigned varint: the shape of a tagged field.
   * One byte is reserved; a longer length moves the body, which is rare as tagged fields are small.
   */
  sized(body: () => void): void {
    const hole = this.#grow(1);
    const keptBefore = this.#kept.length;
    const start = this.length;
    body();
    const size = this.length - start;
    let extra = 0;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) extra++;
    if (extra > 0) {
      const end = this.#at;
      this.#grow(extra);
      this.#buf.copyWithin(hole + 1 + extra, hole + 1, end);
      for (let index = keptBefore; index < this.#kept.length; index++) {
        (this.#kept[index] as Kept).at += extra;
      }
    }
    let rest = size;
    let at = hole;
    while (rest > 0x7f) {
      this.#buf[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buf[at] = rest;
  }

  #textSize(value: string): number {
    if (typeof value === 'string') return Buffer.byteLength(value);
    this.#outside(value, 'string');
    return -1;
  }

  #text(value: string, size: number): void {
    const at = this.#grow(size);
    this.#buf.write(value, at, size, 'utf8');
  }

  #isBytes(value: unknown): boolean {
    if (value instanceof Uint8Array) return true;
    this.#outside(value, 'byte field');
    return false;
  }

  #byte(value: number): void {
    const at = this.#grow(1);
    this.#buf[at] = value;
  }

  /** Makes room for `size` bytes, moves on, and returns where they begin. */
  #grow(size: number): number {
    const at = this.#at;
    const need = at + size;
    if (need > this.#buf.length) {
      const larger = Buffer.allocUnsafe(Math.max(need, this.#buf.length * 2));
      this.#buf.copy(larger, 0, 0, at);
      this.#buf = larger;
    }
    this.#at = need;
    return at;
  }

  #outside(value: unknown, type: string): void {
    const shown = typeof value === 'string' && value.length > 40 ? `${value.slice(0, 40)}...` : String(value);
    this.bad(`${shown} is no ${type}`);
  }
}
