/**
 * Variable-length integers of the Kafka protocol: seven bits a byte, lowest group first, top bit set on all
 * but the last byte. `unsigned` is used by compact types and tagged fields; `varint` and `varlong` (zigzag)
 * by the records of a batch.
 *
 * Reading is exact: at most 5 bytes for 32 bits and 10 for 64, and a bit beyond the width is an error, never
 * dropped. Padding with zero groups inside that limit is legal, as every broker accepts it.
 */

/** Where a read stands; any reader object with an `at` field serves. */
export interface Position {
  at: number;
}

/** Reads an unsigned 32-bit varint. Bad input (cut short, too long, too wide): returns -1, `at` stays. */
export function readUnsignedVarint(buf: Uint8Array, position: Position, end: number): number {
  let at = position.at;
  let value = 0;
  for (let shift = 0; shift <= 28; shift += 7) {
    if (at >= end) return -1;
    const byte = buf[at++] as number;
    if (shift === 28 && byte > 0x0f) return -1;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      position.at = at;
      return value >>> 0;
    }
  }
  return -1;
}

/** Reads a zigzag 32-bit varint. Bad input: returns NaN, `at` stays. */
export function readVarint(buf: Uint8Array, position: Position, end: number): number {
  const raw = readUnsignedVarint(buf, position, end);
  if (raw < 0) return Number.NaN;
  return (raw >>> 1) ^ -(raw & 1);
}

/** Reads a zigzag 64-bit varint. Bad input: returns undefined, `at` stays. */
export function readVarlong(buf: Uint8Array, position: Position, end: number): bigint | undefined {
  const raw = readUnsignedVarlong(buf, position, end);
  if (raw === undefined) return undefined;
  return (raw >> 1n) ^ -(raw & 1n);
}

/** Reads an unsigned 64-bit varint. Bad input: returns undefined, `at` stays. */
export function readUnsignedVarlong(buf: Uint8Array, position: Position, end: number): bigint | undefined {
  let at = position.at;
  // Three parts of 28, 28 and 8 bits, so that bigint is touched once and not per byte.
  let low = 0;
  let middle = 0;
  let high = 0;
  for (let group = 0; group < 10; group++) {
    if (at >= end) return undefined;
    const byte = buf[at++] as number;
    const bits = byte & 0x7f;
    if (group < 4) low |= bits << (7 * group);
    else if (group < 8) middle |= bits << (7 * (group - 4));
    else if (group === 8) high = bits;
    else if (byte > 1) return undefined;
    else high |= bits << 7;
    if (byte < 0x80) {
      position.at = at;
      const lower = low + middle * 0x1000_0000;
      if (high === 0 && lower <= Number.MAX_SAFE_INTEGER) return BigInt(lower);
      return BigInt(low) | (BigInt(middle) << 28n) | (BigInt(high) << 56n);
    }
  }
  return undefined;
}

/** Bytes that `writeUnsignedVarint` needs for a value of 0 to 2^32-1. */
export function unsignedVarintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  if (value < 0x1000_0000) return 4;
  return 5;
}

/** Writes 0 to 2^32-1 at `at`, returns the position behind it. The caller has made room. */
export function writeUnsignedVarint(buf: Uint8Array, at: number, value: number): number {
  let rest = value >>> 0;
  while (rest >= 0x80) {
    buf[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buf[at++] = rest;
  return at;
}

/** Bytes that `writeVarint` needs for an int32. */
export function varintSize(value: number): number {
  return unsignedVarintSize(zigzag(value));
}

/** Writes an int32 in zigzag form at `at`, returns the position behind it. */
export function writeVarint(buf: Uint8Array, at: number, value: number): number {
  return writeUnsignedVarint(buf, at, zigzag(value));
}

/** Bytes that `writeVarlong` needs for an int64. */
export function varlongSize(value: bigint): number {
  let rest = zigzag64(value);
  let size = 1;
  while (rest >= 0x80n) {
    rest >>= 7n;
    size++;
  }
  return size;
}

/** Writes an int64 in zigzag form at `at`, returns the position behind it. */
export function writeVarlong(buf: Uint8Array, at: number, value: bigint): number {
  let rest = zigzag64(value);
  while (rest >= 0x80n) {
    buf[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  buf[at++] = Number(rest);
  return at;
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

function zigzag64(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
}
