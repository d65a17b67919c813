/**
 * The fake broker's own small codec. It shares nothing with `protocol/`, so that a fault there can't hide by being
 * made on both sides. It trusts its input: a bad frame throws, and the server closes the connection.
 */
export class In {
  readonly buf: Buffer;
  at = 0;
  /** Compact lengths and tagged fields (KIP-482). */
  flex = false;

  constructor(buf: Buffer) {
    this.buf = buf;
  }

  i8(): number {
    const value = this.buf.readInt8(this.at);
    this.at += 1;
    return value;
  }

  bool(): boolean {
    return this.i8() !== 0;
  }

  i16(): number {
    const value = this.buf.readInt16BE(this.at);
    this.at += 2;
    return value;
  }

  i32(): number {
    const value = this.buf.readInt32BE(this.at);
    this.at += 4;
    return value;
  }

  i64(): bigint {
    const value = this.buf.readBigInt64BE(this.at);
    this.at += 8;
    return value;
  }

  uvar(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buf.readUInt8(this.at);
      this.at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error('varint too long');
  }

  take(size: number): Buffer {
    if (size < 0 || this.at + size > this.buf.length)
      throw new Error(`${size} bytes at ${this.at} pass the end`);
    this.at += size;
    return this.buf.subarray(this.at - size, this.at);
  }

  str(): string {
    return this.nstr() ?? '';
  }

  nstr(): string | null {
    const size = this.flex ? this.uvar() - 1 : this.i16();
    return size < 0 ? null : this.take(size).toString('utf8');
  }

  bytes(): Buffer | null {
    const size = this.flex ? this.uvar() - 1 : this.i32();
    return size < 0 ? null : this.take(size);
  }

  uuid(): string {
    return this.take(16).toString('base64url');
  }

  list<T>(read: () => T): T[] {
    return this.nlist(read) ?? [];
  }

  nlist<T>(read: () => T): T[] | null {
    const count = this.flex ? this.uvar() - 1 : this.i32();
    if (count < 0) return null;
    if (count > this.buf.length) throw new Error(`array of ${count}`);
    return Array.from({ length: count }, read);
  }

  tags(): void {
    if (!this.flex) return;
    for (let left = this.uvar(); left > 0; left -= 1) {
      this.uvar();
      this.take(this.uvar());
    }
  }
}

export class Out {
  readonly #parts: Buffer[] = [];
  flex: boolean;

  constructor(flex: boolean) {
    this.flex = flex;
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  i8(value: number): this {
    const part = Buffer.alloc(1);
    part.writeInt8(value);
    return this.raw(part);
  }

  bool(value: boolean): this {
    return this.i8(value ? 1 : 0);
  }

  i16(value: number): this {
    const part = Buffer.alloc(2);
    part.writeInt16BE(value);
    return this.raw(part);
  }

  i32(value: number): this {
    const part = Buffer.alloc(4);
    part.writeInt32BE(value);
    return this.raw(part);
  }

  i64(value: bigint | number): this {
    const part = Buffer.alloc(8);
    part.writeBigInt64BE(BigInt(value));
    return this.raw(part);
  }

  uvar(value: number): this {
    const part: number[] = [];
    let rest = value;
    while (rest > 0x7f) {
      part.push((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    part.push(rest);
    return this.raw(Buffer.from(part));
  }

  str(value: string | null): this {
    const text = value === null ? null : Buffer.from(value, 'utf8');
    if (this.flex) this.uvar(text === null ? 0 : text.length + 1);
    else this.i16(text === null ? -1 : text.length);
    return text === null ? this : this.raw(text);
  }

  bytes(value: Buffer | null): this {
    if (this.flex) this.uvar(value === null ? 0 : value.length + 1);
    else this.i32(value === null ? -1 : value.length);
    return value === null ? this : this.raw(value);
  }

  uuid(value: string): this {
    return this.raw(Buffer.from(value, 'base64url'));
  }

  list<T>(items: readonly T[] | null, write: (item: T) => void): this {
    if (this.flex) this.uvar(items === null ? 0 : items.length + 1);
    else this.i32(items === null ? -1 : items.length);
    for (const item of items ?? []) write(item);
    return this;
  }

  /** Tagged fields, in ascending order of their tag. */
  tags(fields: readonly { tag: number; body: (out: Out) => void }[] = []): this {
    if (!this.flex) return this;
    this.uvar(fields.length);
    for (const { tag, body } of fields) {
      const out = new Out(true);
      body(out);
      const bytes = out.done();
      this.uvar(tag).uvar(bytes.length).raw(bytes);
    }
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
