/**
 * Compiles one description for one version into closures: decode, encode, the default value and the least size.
 * Nothing about versions is decided while a message is read or written.
 */

import type { Reader } from '../primitives/reader.ts';
import type { Writer } from '../primitives/writer.ts';
import type { FieldSpec, Fields, UnknownTag } from './notation.ts';
import { type Codec, refuseNull, scalarCodec } from './scalars.ts';

interface Member {
  readonly name: string;
  readonly codec: Codec;
  readonly present: boolean;
}

interface TaggedMember extends Member {
  readonly tag: number;
}

type Struct = Record<string, unknown> & { unknownTags?: UnknownTag[] };

/** Compiles `fields` as the body of a message, or as a struct, at `version`. */
export function compileStruct(fields: Fields, version: number, flexible: boolean): Codec {
  const members: Member[] = [];
  const plain: Member[] = [];
  const tagged: TaggedMember[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const present = version >= field.from && version <= field.to;
    const codec = compileField(field, version, flexible);
    const member = { name, codec, present };
    members.push(member);
    if (!present) continue;
    if (field.tag === undefined) plain.push(member);
    else if (flexible) tagged.push({ ...member, tag: field.tag });
  }
  tagged.sort((a, b) => a.tag - b.tag);
  const byTag = new Map(tagged.map((member) => [member.tag, member]));
  // Fields that get their default before the wire is read; plain ones are overwritten unless the reader goes bad.
  const preset = members.filter((member) => !plain.includes(member));

  const decode = (reader: Reader): Struct => {
    const out: Struct = {};
    for (const { name, codec } of plain) {
      out[name] = codec.decode(reader);
      if (!reader.ok) {
        reader.blame(name);
        break;
      }
    }
    for (const { name, codec } of preset) out[name] = codec.zero();
    if (flexible && reader.ok) decodeTags(reader, byTag, out);
    return out;
  };

  const encode = (writer: Writer, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return writer.bad(`${String(value)} is no struct`);
    const from = value as Struct;
    for (const { name, codec } of plain) {
      const field = from[name];
      codec.encode(writer, field === undefined ? codec.zero() : field);
      if (!writer.ok) return writer.blame(name);
    }
    if (flexible) encodeTags(writer, tagged, from);
  };

  return {
    decode,
    encode,
    minSize: plain.reduce((sum, { codec }) => sum + codec.minSize, flexible ? 1 : 0),
    zero: () => {
      const out: Struct = {};
      for (const { name, codec } of members) out[name] = codec.zero();
      return out;
    },
    isDefault: (value) => {
      const from = value as Struct;
      if ((from.unknownTags?.length ?? 0) > 0) return false;
      return members.every(
        ({ name, codec, present }) => !present || from[name] === undefined || codec.isDefault(from[name]),
      );
    },
  };
}

/** Of one struct. Each that is not known becomes an object of many times its two bytes (case S3). */
const MOST_TAGS = 10_000;

function decodeTags(reader: Reader, byTag: ReadonlyMap<number, TaggedMember>, out: Struct): void {
  const count = reader.uvarint();
  if (count > MOST_TAGS) reader.bad(`${count} tagged fields, at most ${MOST_TAGS} are read`);
  if (!reader.ok) return reader.blame('tags');
  let previous = -1;
  for (let index = 0; index < count; index++) {
    const at = reader.position;
    const tag = reader.uvarint();
    const size = reader.uvarint();
    if (!reader.ok) return reader.blame('tags');
    if (tag <= previous) {
      reader.bad(`tag ${tag} does not come after tag ${previous}`, at);
      return reader.blame('tags');
    }
    previous = tag;
    const known = byTag.get(tag);
    if (known === undefined) {
      const bytes = reader.raw(size);
      if (!reader.ok) return reader.blame(`tag ${tag}`);
      out.unknownTags ??= [];
      out.unknownTags.push({ tag, bytes });
      continue;
    }
    const end = reader.narrow(size);
    out[known.name] = known.codec.decode(reader);
    if (reader.remaining > 0) reader.bad(`${reader.remaining} bytes too many in the tagged field`);
    reader.widen(end);
    if (!reader.ok) return reader.blame(known.name);
  }
}

function encodeTags(writer: Writer, tagged: readonly TaggedMember[], from: Struct): void {
  const unknown = from.unknownTags;
  const due = tagged.filter(({ name, codec }) => from[name] !== undefined && !codec.isDefault(from[name]));
  if (unknown === undefined || unknown.length === 0) {
    writer.uvarint(due.length);
    for (const member of due) encodeTag(writer, member, from);
    return;
  }
  // Tags must ascend on the wire, whoever knows them.
  const all: { tag: number; write: () => void }[] = due.map((member) => ({
    tag: member.tag,
    write: () => encodeTag(writer, member, from),
  }));
  for (const { tag, bytes } of unknown) {
    if (tagged.some((member) => member.tag === tag)) {
      writer.bad(`tag ${tag} is known to the schema and cannot be an unknown tag`);
      return writer.blame('unknownTags');
    }
    all.push({
      tag,
      write: () => {
        writer.uvarint(tag);
        writer.uvarint(bytes.length);
        writer.raw(bytes);
      },
    });
  }
  all.sort((a, b) => a.tag - b.tag);
  writer.uvarint(all.length);
  for (const { write } of all) write();
}

function encodeTag(writer: Writer, member: TaggedMember, from: Struct): void {
  writer.uvarint(member.tag);
  writer.sized(() => member.codec.encode(writer, from[member.name]));
  if (!writer.ok) writer.blame(member.name);
}

function compileField(field: FieldSpec, version: number, flexible: boolean): Codec {
  const nullable = version >= field.nullableFrom && version >= field.from && version <= field.to;
  const everNullable = field.nullableFrom !== Number.POSITIVE_INFINITY;
  const present = version >= field.from && version <= field.to;
  const base = compileKind(field, version, flexible, nullable);
  // A field that this version does not carry is null if it can be null elsewhere; one that is carried but may not be
  // null in this version begins at the zero value of its kind.
  const zeroIsNull = nullable || (everNullable && !present);
  const fallback = field.default;
  const nullFallback = fallback === null || (fallback === undefined && zeroIsNull);
  let { zero, isDefault } = base;
  if (nullFallback && (zeroIsNull || !present)) {
    zero = () => null;
    isDefault = (value) => value === null;
  } else if (fallback !== undefined && fallback !== null && field.kind !== 'array') {
    zero = () => fallback;
    isDefault = (value) => value === fallback;
  }
  return { ...base, zero, isDefault };
}

function compileKind(field: FieldSpec, version: number, flexible: boolean, nullable: boolean): Codec {
  switch (field.kind) {
    case 'array':
      return compileArray(field.element as FieldSpec, version, flexible, nullable);
    case 'struct':
      return compileStruct(field.fields as Fields, version, flexible);
    default:
      return scalarCodec(field.kind, flexible, nullable);
  }
}

function compileArray(element: FieldSpec, version: number, flexible: boolean, nullable: boolean): Codec {
  const item = compileField(element, version, flexible);
  const readLength = flexible
    ? (r: Reader) => r.compactArrayLength(item.minSize, nullable)
    : (r: Reader) => r.arrayLength(item.minSize, nullable);
  const decode = (reader: Reader): unknown[] | null => {
    const count = readLength(reader);
    if (count < 0) return null;
    const out: unknown[] = [];
    for (let index = 0; index < count; index++) {
      out.push(item.decode(reader));
      if (!reader.ok) {
        reader.blame(`[${index}]`);
        break;
      }
    }
    return out;
  };
  const encode = (writer: Writer, value: readonly unknown[] | null): void => {
    const count = value === null ? -1 : value.length;
    if (!(count >= -1)) return writer.bad(`${String(value)} is no array`);
    if (flexible) writer.uvarint(count + 1);
    else writer.int32(count);
    for (let index = 0; index < count; index++) {
      item.encode(writer, (value as readonly unknown[])[index]);
      if (!writer.ok) return writer.blame(`[${index}]`);
    }
  };
  return {
    decode,
    encode: refuseNull(nullable, encode) as Codec['encode'],
    minSize: flexible ? 1 : 4,
    zero: () => [],
    isDefault: (value) => value !== null && (value as unknown[]).length === 0,
  };
}
