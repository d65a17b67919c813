/** Codecs of the kinds that hold no other values: numbers, strings, uuids, bytes. */

import { type Reader, ZERO_UUID } from '../primitives/reader.ts';
import type { Writer } from '../primitives/writer.ts';
import type { Kind } from './notation.ts';

export type ScalarKind = Exclude<Kind, 'array' | 'struct'>;

export interface Codec {
  readonly decode: (reader: Reader) => unknown;
  readonly encode: (writer: Writer, value: unknown) => void;
  /** Fewest bytes that a value takes: lets an array's count be judged before its elements are read. */
  readonly minSize: number;
  /** A fresh value for a field that is absent or left out. */
  readonly zero: () => unknown;
  /** Whether a tagged field with this value may stay off the wire. */
  readonly isDefault: (value: unknown) => boolean;
}

function simple(
  decode: (reader: Reader) => unknown,
  encode: (writer: Writer, value: never) => void,
  minSize: number,
  zero: unknown,
): Codec {
  return {
    decode,
    encode: encode as Codec['encode'],
    minSize,
    zero: () => zero,
    isDefault: (value) => value === zero,
  };
}

/** The codec of a kind that holds no other values. */
export function scalarCodec(kind: ScalarKind, flexible: boolean, nullable: boolean): Codec {
  switch (kind) {
    case 'bool':
      return simple(
        (r) => r.bool(),
        (w, v: boolean) => w.bool(v),
        1,
        false,
      );
    case 'int8':
      return simple(
        (r) => r.int8(),
        (w, v: number) => w.int8(v),
        1,
        0,
      );
    case 'int16':
      return simple(
        (r) => r.int16(),
        (w, v: number) => w.int16(v),
        2,
        0,
      );
    case 'uint16':
      return simple(
        (r) => r.uint16(),
        (w, v: number) => w.uint16(v),
        2,
        0,
      );
    case 'int32':
      return simple(
        (r) => r.int32(),
        (w, v: number) => w.int32(v),
        4,
        0,
      );
    case 'int64':
      return simple(
        (r) => r.int64(),
        (w, v: bigint) => w.int64(v),
        8,
        0n,
      );
    case 'offset64':
      return simple(
        (r) => r.offset64(),
        (w, v: number) => w.offset64(v),
        8,
        0,
      );
    case 'float64':
      return simple(
        (r) => r.float64(),
        (w, v: number) => w.float64(v),
        8,
        0,
      );
    case 'uuid':
      return simple(
        (r) => r.uuid(),
        (w, v: string) => w.uuid(v),
        16,
        ZERO_UUID,
      );
    case 'string':
      return compileString(flexible, nullable);
    case 'bytes':
    case 'records':
      return compileBytes(flexible, nullable);
  }
}

/** Wraps an encoder so that null makes the writer bad where the version does not allow it. */
export function refuseNull<T>(nullable: boolean, encode: (writer: Writer, value: T) => void) {
  if (nullable) return encode;
  return (writer: Writer, value: T): void => {
    if (value === null) writer.bad('null where this version allows none');
    else encode(writer, value);
  };
}

function compileString(flexible: boolean, nullable: boolean): Codec {
  const write = flexible
    ? (w: Writer, v: string | null) => w.compactString(v)
    : (w: Writer, v: string | null) => w.string(v);
  let read = flexible ? (r: Reader) => r.compactString() : (r: Reader) => r.string();
  if (nullable) {
    read = (
      flexible ? (r: Reader) => r.compactNullableString() : (r: Reader) => r.nullableString()
    ) as typeof read;
  }
  return simple(read, refuseNull(nullable, write), flexible ? 1 : 2, '');
}

function compileBytes(flexible: boolean, nullable: boolean): Codec {
  const write = flexible
    ? (w: Writer, v: Uint8Array | null) => w.compactBytesField(v)
    : (w: Writer, v: Uint8Array | null) => w.bytesField(v);
  let read = flexible ? (r: Reader) => r.compactBytes() : (r: Reader) => r.bytes();
  if (nullable) {
    read = (
      flexible ? (r: Reader) => r.compactNullableBytes() : (r: Reader) => r.nullableBytes()
    ) as typeof read;
  }
  return {
    ...simple(read, refuseNull(nullable, write), flexible ? 1 : 4, null),
    zero: () => Buffer.alloc(0),
    isDefault: (value) => value !== null && (value as Uint8Array).length === 0,
  };
}
