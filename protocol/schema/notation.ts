/**
 * The notation in which every message is described: one description holds all versions of an API.
 *
 *     request: {
 *       topics: array(struct({ name: string({ to: 12 }), topicId: uuid({ from: 13 }) })),
 *       rackId: string({ from: 11, default: '' }),
 *     }
 *
 * Field order is wire order. `from`/`to` bound the versions that carry a field, `nullableFrom` those in which it may
 * be null, `tag` makes it a tagged field. TypeScript reads two types off a description: what decoding yields (every
 * field present) and what encoding takes (a field may be left out if it has a default or a version range).
 */

/** How a value lies on the wire. `offset64` is an int64 handed out as a safe integer; `records` are bytes by another name. */
export type Kind =
  | 'bool'
  | 'int8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'int64'
  | 'offset64'
  | 'float64'
  | 'uuid'
  | 'string'
  | 'bytes'
  | 'records'
  | 'array'
  | 'struct';

export interface FieldSpec {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
  /** First version in which null is allowed; Infinity: never. */
  readonly nullableFrom: number;
  readonly tag: number | undefined;
  /** Explicit default; undefined: null if it is ever nullable, else the zero value of the kind. */
  readonly default: unknown;
  readonly element: FieldSpec | undefined;
  readonly fields: Fields | undefined;
}

declare const shape: unique symbol;

interface Shape<D, I, Required extends boolean> {
  readonly decoded: D;
  readonly input: I;
  readonly required: Required;
}

/** A field whose decoded value is D and whose input is I; `Required` says whether encoding demands it. */
export interface Field<D, I, Required extends boolean> extends FieldSpec {
  readonly [shape]?: Shape<D, I, Required>;
}

export interface AnyField extends FieldSpec {
  readonly [shape]?: Shape<unknown, unknown, boolean>;
}
export type Fields = Readonly<Record<string, AnyField>>;

/** A tagged field that the schema does not know, kept as it came and written again on encode. */
export interface UnknownTag {
  tag: number;
  bytes: Buffer;
}

type ShapeOf<F extends AnyField> = NonNullable<F[typeof shape]>;
type Flat<T> = { [K in keyof T]: T[K] };
type RequiredKeys<F extends Fields> = {
  [K in keyof F]: ShapeOf<F[K]>['required'] extends true ? K : never;
}[keyof F];

export type Decoded<F extends Fields> = Flat<
  { -readonly [K in keyof F]: ShapeOf<F[K]>['decoded'] } & { unknownTags?: UnknownTag[] }
>;
export type Input<F extends Fields> = Flat<
  { readonly [K in RequiredKeys<F>]: ShapeOf<F[K]>['input'] } & {
    readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: ShapeOf<F[K]>['input'] | undefined;
  } & { readonly unknownTags?: readonly UnknownTag[] | undefined }
>;

export interface Options<D> {
  readonly from?: number;
  readonly to?: number;
  readonly default?: D;
  readonly tag?: number;
  readonly nullableFrom?: never;
}

export interface NullableOptions<D> {
  readonly from?: number;
  readonly to?: number;
  readonly default?: D | null;
  readonly tag?: number;
  readonly nullableFrom: number;
}

type AnyOptions = Options<unknown> | NullableOptions<unknown>;

function spec(kind: Kind, options: AnyOptions = {}, element?: FieldSpec, fields?: Fields): FieldSpec {
  return {
    kind,
    from: options.from ?? 0,
    to: options.to ?? Number.POSITIVE_INFINITY,
    nullableFrom: options.nullableFrom ?? Number.POSITIVE_INFINITY,
    tag: options.tag,
    default: options.default,
    element,
    fields,
  };
}

interface Scalar<T> {
  (): Field<T, T, true>;
  (options: Options<T>): Field<T, T, false>;
}

interface MaybeNull<D, I> {
  (): Field<D, I, true>;
  (options: NullableOptions<D>): Field<D | null, I | null, false>;
  (options: Options<D>): Field<D, I, false>;
}

const scalar = <T>(kind: Kind): Scalar<T> => ((options?: AnyOptions) => spec(kind, options)) as Scalar<T>;
const maybeNull = <D, I>(kind: Kind): MaybeNull<D, I> =>
  ((options?: AnyOptions) => spec(kind, options)) as MaybeNull<D, I>;

export const bool = scalar<boolean>('bool');
export const int8 = scalar<number>('int8');
export const int16 = scalar<number>('int16');
export const uint16 = scalar<number>('uint16');
export const int32 = scalar<number>('int32');
export const int64 = scalar<bigint>('int64');
export const offset64 = scalar<number>('offset64');
export const float64 = scalar<number>('float64');
export const uuid = scalar<string>('uuid');
export const string = maybeNull<string, string>('string');
export const bytes = maybeNull<Buffer, Uint8Array>('bytes');
export const records = maybeNull<Buffer, Uint8Array>('records');

type Items<E extends AnyField> = ShapeOf<E>['decoded'][];
type ItemsInput<E extends AnyField> = readonly ShapeOf<E>['input'][];

export function array<E extends AnyField>(element: E): Field<Items<E>, ItemsInput<E>, true>;
export function array<E extends AnyField>(
  element: E,
  options: NullableOptions<never[]>,
): Field<Items<E> | null, ItemsInput<E> | null, false>;
export function array<E extends AnyField>(
  element: E,
  options: Options<never[]>,
): Field<Items<E>, ItemsInput<E>, false>;
export function array(element: AnyField, options?: AnyOptions): FieldSpec {
  return spec('array', options, element);
}

export function struct<F extends Fields>(fields: F): Field<Decoded<F>, Input<F>, true>;
export function struct<F extends Fields>(
  fields: F,
  options: Options<never>,
): Field<Decoded<F>, Input<F>, false>;
export function struct(fields: Fields, options?: AnyOptions): FieldSpec {
  return spec('struct', options, undefined, fields);
}
