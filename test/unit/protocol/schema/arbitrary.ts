/**
 * Lets the schema write its own tests: fast-check arbitraries of a message, and what decoding must yield for an input.
 * The rules for absent fields are stated a second time here on purpose; the compiler is not asked.
 */

import fc from 'fast-check';
import type { Direction } from '../../../../protocol/schema/api.ts';
import { type AnyApi, apis } from '../../../../protocol/schema/index.ts';
import type { FieldSpec, Fields } from '../../../../protocol/schema/notation.ts';
import { ZERO_UUID } from '../../../../protocol/primitives/reader.ts';

export interface Variant {
  readonly api: AnyApi;
  readonly direction: Direction;
  readonly version: number;
  readonly title: string;
}

/** Every (API, direction, version) that we can read and write. */
export function everyVariant(): Variant[] {
  const out: Variant[] = [];
  for (const api of apis) {
    for (const direction of ['request', 'response'] as const) {
      for (let version = api.min; version <= api.max; version++) {
        out.push({ api, direction, version, title: `${api.name} v${version} ${direction}` });
      }
    }
  }
  return out;
}

export type Message = Record<string, unknown>;

export interface Shape {
  /** Longest array generated. */
  readonly maxItems: number;
  readonly unknownTags: boolean;
  /** Highest unknown tag; Java's writer takes 2^31 - 1 for its own end of all tags. */
  readonly lastTag?: number;
}

export function messageArbitrary(variant: Variant, shape: Shape = { maxItems: 3, unknownTags: true }) {
  const { api, direction, version } = variant;
  return structArbitrary(api[direction].fields, version, version >= api.flexibleFrom, shape);
}

export function carried(field: FieldSpec, version: number): boolean {
  return version >= field.from && version <= field.to;
}

function structArbitrary(
  fields: Fields,
  version: number,
  flexible: boolean,
  shape: Shape,
): fc.Arbitrary<Message> {
  const entries = Object.entries(fields).filter(([, field]) => carried(field, version));
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, field] of entries) members[name] = fieldArbitrary(field, version, flexible, shape);
  const plain = fc.record(members, { noNullPrototype: true });
  if (!flexible || !shape.unknownTags) return plain;
  const tags = fc.uniqueArray(
    fc.record(
      { tag: fc.integer({ min: 100, max: shape.lastTag ?? 0x7fffffff }), bytes: bytesArbitrary },
      { noNullPrototype: true },
    ),
    {
      minLength: 1,
      maxLength: 2,
      selector: ({ tag }) => tag,
    },
  );
  const tagged = fc.tuple(plain, tags).map(([message, unknown]) => ({
    ...message,
    unknownTags: unknown.toSorted((a, b) => a.tag - b.tag),
  }));
  return fc.oneof({ weight: 4, arbitrary: plain }, { weight: 1, arbitrary: tagged });
}

const bytesArbitrary = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes));
const uuidArbitrary = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));

function fieldArbitrary(
  field: FieldSpec,
  version: number,
  flexible: boolean,
  shape: Shape,
): fc.Arbitrary<unknown> {
  const base = kindArbitrary(field, version, flexible, shape);
  return version >= field.nullableFrom ? fc.option(base, { nil: null, freq: 4 }) : base;
}

function kindArbitrary(
  field: FieldSpec,
  version: number,
  flexible: boolean,
  shape: Shape,
): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'bool':
      return fc.boolean();
    case 'int8':
      return fc.integer({ min: -0x80, max: 0x7f });
    case 'int16':
      return fc.integer({ min: -0x8000, max: 0x7fff });
    case 'uint16':
      return fc.integer({ min: 0, max: 0xffff });
    case 'int32':
      return fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
    case 'int64':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case 'offset64':
      return fc.maxSafeInteger();
    case 'float64':
      return fc.double();
    case 'uuid':
      return uuidArbitrary;
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: 8 });
    case 'bytes':
    case 'records':
      return bytesArbitrary;
    case 'array':
      return fc.array(fieldArbitrary(field.element as FieldSpec, version, flexible, shape), {
        maxLength: shape.maxItems,
      });
    case 'struct':
      return structArbitrary(field.fields as Fields, version, flexible, shape);
  }
}

/** What decoding must yield for an encoded `input`: everything in it, and the default of each field that was not sent. */
export function expectedOf(fields: Fields, version: number, input: Message): Message {
  const out: Message = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = carried(field, version) ? input[name] : undefined;
    out[name] = value === undefined ? defaultOf(field, version) : expectedField(field, version, value);
  }
  if (input['unknownTags'] !== undefined) out['unknownTags'] = input['unknownTags'];
  return out;
}

function expectedField(field: FieldSpec, version: number, value: unknown): unknown {
  if (value === null) return null;
  if (field.kind === 'struct') return expectedOf(field.fields as Fields, version, value as Message);
  if (field.kind !== 'array') return value;
  return (value as unknown[]).map((item) => expectedField(field.element as FieldSpec, version, item));
}

function defaultOf(field: FieldSpec, version: number): unknown {
  if (field.default !== undefined && field.default !== null) return field.default;
  if (version >= field.nullableFrom) return null;
  if (field.nullableFrom !== Number.POSITIVE_INFINITY && !carried(field, version)) return null;
  switch (field.kind) {
    case 'bool':
      return false;
    case 'int64':
      return 0n;
    case 'uuid':
      return ZERO_UUID;
    case 'string':
      return '';
    case 'bytes':
    case 'records':
      return Buffer.alloc(0);
    case 'array':
      return [];
    case 'struct':
      return expectedOf(field.fields as Fields, version, {});
    default:
      return 0;
  }
}
