/**
 * Reads Kafka's primitive types from a byte range without copying.
 *
 * A reader goes bad once: the first read that does not fit records a reason and a position, moves to the end,
 * and from then on every read returns a zero value. Codecs therefore need no exception per field; whoever
 * started the decode asks `ok` at the end (the frame helpers do this and throw one ProtocolError).
 *
 * Lengths are compared with the bytes left before anything is allocated. Byte fields are views of the input.
 */

export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA';
const NO_BYTES = Buffer.alloc(0);

export class Reader {
  readonly #buf: Buffer;
  #at: number;
  #end: number;
  #reason: string | undefined;
  #badAt = -1;
  #path = '';

  /** Reads `bytes[start, end)`; positions in errors count from the beginning of `bytes`. */
  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#buf = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!(start >= 0 && start <= end && end <= bytes.length)) {
      throw new RangeError(`reader range [${start}, ${end}) lies outside of ${bytes.length} bytes`);
    }
    this.#at = start;
    this.#end = end;
  }

  get ok(): boolean {
    return this.#reason === undefined;
  }

  /** Why the reader went bad, or undefined. */
  get badReason(): string | undefined {
    return this.#reason;
  }

  /** Byte position of the read that went bad, or -1. */
  get badAt(): number {
    return this.#badAt;
  }

  /** Field path of the read that went bad, for example `topics[0].partitions[2].records`; '' outside of a codec. */
  get badPath(): string {
    return this.#path;
  }

  get position(): number {
    return this.#at;
  }

  get end(): number {
    return this.#end;
  }

  get remaining(): number {
    return this.#end - this.#at;
  }

  /** Marks the reader as bad at the current (or given) position; only the first reason counts. */
  bad(reason: string, at: number = this.#at): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#badAt = at;
    this.#at = this.#end;
  }

  /** Called by codecs on their way out of a bad read, innermost first: puts a segment before the path. */
  blame(segment: string): void {
    if (this.#path === '') this.#path = segment;
    else this.#path = this.#path.startsWith('[') ? segment + this.#path : `${segment}.${this.#path}`;
  }

  /**
   * Narrows the reader to the next `size` bytes and returns the old end for `widen`;
   * with too few bytes left the reader goes bad.
   */
  narrow(size: number): number {
    const before = this.#end;
    if (this.#need(size)) this.#end = this.#at + size;
    return before;
  }

  widen(end: number): void {
    this.#end = end;
    if (this.#reason !== undefined) this.#at = end;
  }

  bool(): boolean {
    return this.int8() !== 0;
  }

  int8(): number {
    if (!this.#need(1)) return 0;
    return ((this.#buf[this.#at++] as number) << 24) >> 24;
  }

  uint8(): number {
    if (!this.#need(1)) return 0;
    return this.#buf[this.#at++] as number;
  }

  int16(): number {
    if (!this.#need(2)) return 0;
    const at = this.#at;
    this.#at = at + 2;
    return this.#buf.readInt16BE(at);
  }

  uint16(): number {
    return this.int16() & 0xffff;
  }

  int32(): number {
    if (!this.#need(4)) return 0;
    const at = this.#at;
    this.#at = at + 4;
    return this.#buf.readInt32BE(at);
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  int64(): bigint {
    if (!this.#need(8)) return 0n;
    const at = this.#at;
    this.#at = at + 8;
    return this.#buf.readBigInt64BE(at);
  }

  /** An int64 that must be a safe integer: offsets. Outside of +-(2^53 - 1) the reader goes bad. */
  offset64(): number {
    if (!this.#need(8)) return 0;
    const at = this.#at;
    const value = this.#buf.readInt32BE(at) * 0x1_0000_0000 + this.#buf.readUInt32BE(at + 4);
    if (!Number.isSafeInteger(value)) {
      this.bad(`offset ${this.#buf.readBigInt64BE(at)} is outside of the exact range of +-(2^53 - 1)`);
      return 0;
    }
    this.#at = at + 8;
    return value;
  }

  float64(): number {
    if (!this.#need(8)) return 0;
    const at = this.#at;
    this.#at = at + 8;
    return this.#buf.readDoubleBE(at);
  }

  /** 16 bytes as 22 characters of base64url, as Kafka prints them. */
  uuid(): string {
    if (!this.#need(16)) return ZERO_UUID;
    const at = this.#at;
    this.#at = at + 16;
    return this.#buf.toString('base64url', at, at + 16);
  }

  /** Unsigned varint of at most 32 bits in at most 5 bytes; anything longer or larger is bad. */
  uvarint(): number {
    const start = this.#at;
    if (start < this.#end) {
      const first = this.#buf[start] as number;
      if (first < 0x80) {
        this.#at = start + 1;
        return first;
      }
    }
    let value = 0;
    for (let index = 0; index < 5; index++) {
      if (!this.#need(1)) return 0;
      const byte = this.#buf[this.#at++] as number;
      if (index === 4 && byte > 0x0f) break;
      // Multiplication, because a shift by 28 would lose the upper bits of an uint32.
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return value;
    }
    this.bad('varint does not fit 32 bits', start);
    return 0;
  }

  /** Zigzag varint, int32. */
  varint(): number {
    const raw = this.uvarint();
    return (raw >>> 1) ^ -(raw & 1);
  }

  /** Unsigned varint of at most 64 bits in at most 10 bytes. */
  uvarlong(): bigint {
    const start = this.#at;
    let low = 0;
    let high = 0n;
    for (let index = 0; index < 10; index++) {
      if (!this.#need(1)) return 0n;
      const byte = this.#buf[this.#at++] as number;
      if (index === 9 && byte > 1) break;
      // The first seven bytes hold 49 bits: exact in a double. Bigints only begin behind them.
      if (index < 7) low += (byte & 0x7f) * 2 ** (7 * index);
      else high |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return high | BigInt(low);
    }
    this.bad('varint does not fit 64 bits', start);
    return 0n;
  }

  /** Zigzag varint, int64. */
  varlong(): bigint {
    const raw = this.uvarlong();
    return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n));
  }

  string(): string {
    return this.#text(this.int16(), false) ?? '';
  }

  nullableString(): string | null {
    return this.#text(this.int16(), true);
  }

  compactString(): string {
    return this.#text(this.uvarint() - 1, false) ?? '';
  }

  compactNullableString(): string | null {
    return this.#text(this.uvarint() - 1, true);
  }

  bytes(): Buffer {
    return this.#view(this.int32(), false) ?? NO_BYTES;
  }

  nullableBytes(): Buffer | null {
    return this.#view(this.int32(), true);
  }

  compactBytes(): Buffer {
    return this.#view(this.uvarint() - 1, false) ?? NO_BYTES;
  }

  compactNullableBytes(): Buffer | null {
    return this.#view(this.uvarint() - 1, true);
  }

  /** The next `size` bytes as a view. */
  raw(size: number): Buffer {
    return this.#view(size, false) ?? NO_BYTES;
  }

  skip(size: number): void {
    if (this.#need(size)) this.#at += size;
  }

  /** Steps over a section of tagged fields. */
  skipTags(): void {
    for (let left = this.uvarint(); left > 0 && this.#reason === undefined; left -= 1) {
      this.uvarint();
      this.skip(this.uvarint());
    }
  }

  /** Element count of an array, -1 for null. Each element needs at least `minSize` bytes, so a hostile count is bad at once. */
  arrayLength(minSize: number, nullable: boolean): number {
    const at = this.#at;
    return this.#count(this.int32(), minSize, nullable, at);
  }

  compactArrayLength(minSize: number, nullable: boolean): number {
    const at = this.#at;
    return this.#count(this.uvarint() - 1, minSize, nullable, at);
  }

  #count(count: number, minSize: number, nullable: boolean, at: number): number {
    if (this.#reason !== undefined) return 0;
    if (count < 0) {
      if (count === -1 && nullable) return -1;
      this.bad(count === -1 ? 'null array where none is allowed' : `array length ${count} is negative`, at);
      return 0;
    }
    if (count * minSize > this.#end - this.#at) {
      this.bad(`array of ${count} elements cannot fit into the ${this.#end - this.#at} bytes left`, at);
      return 0;
    }
    return count;
  }

  #text(length: number, nullable: boolean): string | null {
    if (!this.#sized(length, nullable)) return nullable && length === -1 ? null : '';
    const at = this.#at;
    this.#at = at + length;
    return length === 0 ? '' : this.#buf.toString('utf8', at, at + length);
  }

  #view(length: number, nullable: boolean): Buffer | null {
    if (!this.#sized(length, nullable)) return nullable && length === -1 ? null : NO_BYTES;
    const at = this.#at;
    this.#at = at + length;
    return this.#buf.subarray(at, at + length);
  }

  /** True if `length` bytes may be taken; false for null and for bad lengths (then the reader is bad). */
  #sized(length: number, nullable: boolean): boolean {
    if (this.#reason !== undefined) return false;
    if (length >= 0) return this.#need(length);
    if (length === -1 && nullable) return false;
    this.bad(length === -1 ? 'null where none is allowed' : `length ${length} is negative`);
    return false;
  }

  #need(size: number): boolean {
    if (this.#end - this.#at >= size) return this.#reason === undefined;
    this.bad(`needs ${size} bytes, ${this.#end - this.#at} left`);
    return false;
  }
}
