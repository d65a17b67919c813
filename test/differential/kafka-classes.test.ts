import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Reader } from '../../protocol/primitives/reader.ts';
import { Writer } from '../../protocol/primitives/writer.ts';
import type { Fields, FieldSpec } from '../../protocol/schema/notation.ts';
import { runJava } from '../harness/java.ts';
import type { KafkaVersion } from '../harness/kafka-home.ts';
import {
  carried,
  everyVariant,
  expectedOf,
  type Message,
  messageArbitrary,
  type Variant,
} from '../unit/protocol/schema/arbitrary.ts';

/**
 * Our codecs against the message classes of Kafka's own jars: Java reads what we wrote, must see our values under our
 * names and write the same bytes. 4.4.0 knows the newest versions, 3.9.1 the oldest; together all stock ones.
 */

const MESSAGES = 12;
/** Keys of which neither jar has the messages we mean: KIP-1279 is not released, 32001 is ours. */
const isStock = ({ api }: Variant): boolean => api.key < 94;

interface Sample {
  readonly variant: Variant;
  readonly message: Message;
  readonly bytes: Buffer;
}

const samples: Sample[] = [];
const answers = new Map<KafkaVersion, string[]>();
const comparedPairs = new Set<string>();
let folder = '';

function encode({ api, direction, version }: Variant, message: unknown): Buffer {
  const writer = new Writer();
  api[direction].encode(writer, version, message);
  return Buffer.from(writer.bytes());
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-echo-'));
  for (const variant of everyVariant().filter(isStock)) {
    const shape = { maxItems: 3, unknownTags: true, lastTag: 0x7ffffffe };
    for (const message of fc.sample(messageArbitrary(variant, shape), {
      numRuns: MESSAGES,
      seed: 44,
    }) as Message[]) {
      samples.push({ variant, message, bytes: encode(variant, message) });
    }
  }
  const file = join(folder, 'messages.tsv');
  const line = ({ variant: { api, direction, version }, bytes }: Sample) =>
    [api.key, direction, version, bytes.toString('hex')].join('\t');
  writeFileSync(file, samples.map(line).join('\n'));
  for (const version of ['4.4.0', '3.9.1'] as const) {
    answers.set(version, await runJava(version, 'MessageEcho.java', [file]));
  }
}, 60_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  console.log(
    `differential: ${comparedPairs.size} (key, version) pairs compared with the classes of Kafka's jars`,
  );
});

describe.each(['4.4.0', '3.9.1'] as const)('Kafka %s', (release) => {
  test.each(everyVariant().filter(isStock))('$title', ({ api, direction, version }) => {
    const lines = answers.get(release) as string[];
    expect(lines.length).toBe(samples.length);
    for (const [index, sample] of samples.entries()) {
      const { variant, message, bytes } = sample;
      if (variant.api !== api || variant.direction !== direction || variant.version !== version) continue;
      const [verdict, left, again, json] = (lines[index] as string).split('\t');
      if (verdict === 'unknown') continue;
      assert.equal(verdict, 'ok', lines[index]);
      assert.equal(left, '0');
      assert.equal(again, bytes.toString('hex'));
      const { fields } = api[direction];
      const decoded = api[direction].decode(new Reader(bytes), version) as Message;
      assert.deepStrictEqual(decoded, expectedOf(fields, version, message));
      sameValues(fields, version, decoded, parseJson(json as string), api.name);
      comparedPairs.add(`${api.key}/${version}`);
    }
  });
});

test('every stock (key, version) was compared with at least one jar', () => {
  const wanted = everyVariant()
    .filter(isStock)
    .map(({ api, version }) => `${api.key}/${version}`);
  expect([...new Set(wanted)].filter((pair) => !comparedPairs.has(pair))).toEqual([]);
});

/** Integers as bigints, so that int64 stays exact. */
function parseJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source: string }) =>
    typeof value === 'number' ? BigInt(context?.source ?? value) : value,
  );
}

/** Java's JSON holds the fields of this version; tagged ones only when they differ from their default. */
function sameValues(fields: Fields, version: number, ours: Message, theirs: unknown, path: string): void {
  assert.ok(typeof theirs === 'object' && theirs !== null, path);
  const seen = new Set(Object.keys(theirs));
  for (const [name, field] of Object.entries(fields)) {
    if (!carried(field, version)) continue;
    const key = field.kind === 'records' && ours[name] !== null ? `${name}SizeInBytes` : name;
    if (!seen.delete(key)) {
      assert.ok(field.tag !== undefined, `${path}.${name} is not in Java's message`);
      assert.deepStrictEqual(ours[name], expectedOf({ [name]: field }, version, {})[name], `${path}.${name}`);
      continue;
    }
    sameValue(field, version, ours[name], (theirs as Message)[key], `${path}.${name}`);
  }
  assert.deepEqual([...seen], [], `${path} has fields in Java that we do not know`);
}

function sameValue(field: FieldSpec, version: number, ours: unknown, theirs: unknown, path: string): void {
  if (ours === null || theirs === null) return assert.equal(ours, theirs, path);
  if (field.kind === 'struct') {
    return sameValues(field.fields as Fields, version, ours as Message, theirs, path);
  }
  if (field.kind === 'array') {
    assert.ok(Array.isArray(ours) && Array.isArray(theirs), path);
    assert.equal(ours.length, theirs.length, path);
    for (const [index, item] of theirs.entries()) {
      sameValue(field.element as FieldSpec, version, ours[index], item, `${path}[${index}]`);
    }
    return;
  }
  if (field.kind === 'records') return assert.equal(BigInt((ours as Buffer).length), theirs, path);
  assert.equal(typeof ours === 'number' ? BigInt(ours) : ours, theirs, path);
}
