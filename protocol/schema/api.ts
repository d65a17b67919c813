/** An API: its key, its versions and a codec for each direction, compiled at the first use of a version. */

import { ProtocolError } from '../protocol-error.ts';
import type { Reader } from '../primitives/reader.ts';
import type { Writer } from '../primitives/writer.ts';
import { compileStruct } from './compile.ts';
import type { Decoded, Fields, Input } from './notation.ts';
import type { Codec } from './scalars.ts';

export type Direction = 'request' | 'response';

export interface MessageCodec<D, I = D> {
  readonly fields: Fields;
  /**
   * Reads a body. Bad bytes never throw: the reader goes bad, and the caller asks it (`decodeRequest` and
   * `decodeResponse` do). Throws ProtocolError only for a version that the API does not have.
   */
  decode(reader: Reader, version: number): D;
  /** Writes a body. Throws ProtocolError naming the field if a value does not fit this version. */
  encode(writer: Writer, version: number, value: I): void;
}

export interface Api<ReqD, ReqI = ReqD, ResD = unknown, ResI = ResD> {
  readonly key: number;
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** First flexible version; Infinity: none. */
  readonly flexibleFrom: number;
  readonly request: MessageCodec<ReqD, ReqI>;
  readonly response: MessageCodec<ResD, ResI>;
}

// biome-ignore lint/suspicious/noExplicitAny: the one place where an API is handled without its types
// oxlint-disable-next-line no-explicit-any
export type AnyApi = Api<any, any, any, any>;

export type RequestOf<A extends AnyApi> = A extends Api<infer D, infer _I, infer _R, infer _S> ? D : never;
export type RequestInput<A extends AnyApi> = A extends Api<infer _D, infer I, infer _R, infer _S> ? I : never;
export type ResponseOf<A extends AnyApi> = A extends Api<infer _D, infer _I, infer R, infer _S> ? R : never;
export type ResponseInput<A extends AnyApi> =
  A extends Api<infer _D, infer _I, infer _R, infer S> ? S : never;

export interface ApiDescription<Q extends Fields, S extends Fields> {
  readonly key: number;
  readonly name: string;
  readonly versions: readonly [min: number, max: number];
  readonly flexibleFrom: number;
  readonly request: Q;
  readonly response: S;
}

export function defineApi<Q extends Fields, S extends Fields>(
  description: ApiDescription<Q, S>,
): Api<Decoded<Q>, Input<Q>, Decoded<S>, Input<S>> {
  const { key, name, flexibleFrom } = description;
  const [min, max] = description.versions;
  return {
    key,
    name,
    min,
    max,
    flexibleFrom,
    request: messageCodec(description, 'request') as MessageCodec<Decoded<Q>, Input<Q>>,
    response: messageCodec(description, 'response') as MessageCodec<Decoded<S>, Input<S>>,
  };
}

/** For example `Fetch v17 response`. */
export function messageName(api: { readonly name: string }, direction: Direction, version: number): string {
  return `${api.name} v${version} ${direction}`;
}

function messageCodec(
  description: ApiDescription<Fields, Fields>,
  direction: Direction,
): MessageCodec<unknown, unknown> {
  const fields = description[direction];
  const [min, max] = description.versions;
  const compiled: (Codec | undefined)[] = [];
  const codecFor = (version: number): Codec => {
    const ready = compiled[version];
    if (ready !== undefined) return ready;
    if (!Number.isInteger(version) || version < min || version > max) {
      throw new ProtocolError(
        messageName(description, direction, version),
        `this version is not known, only ${min} to ${max}`,
      );
    }
    const codec = compileStruct(fields, version, version >= description.flexibleFrom);
    compiled[version] = codec;
    return codec;
  };
  return {
    fields,
    decode: (reader, version) => codecFor(version).decode(reader),
    encode: (writer, version, value) => {
      codecFor(version).encode(writer, value);
      if (writer.ok) return;
      throw new ProtocolError(
        messageName(description, direction, version),
        writer.badReason ?? 'bad value',
        writer.badPath,
      );
    },
  };
}
