import assert from 'node:assert/strict';
import { createRecordsBatch } from '@platformatic/kafka';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { Reader } from '../../protocol/primitives/reader.ts';
import { Writer } from '../../protocol/primitives/writer.ts';
import { type AnyApi, apis, type ProduceRequest } from '../../protocol/schema/index.ts';
import { everyVariant, messageArbitrary } from '../unit/protocol/schema/arbitrary.ts';
import { hyphenated, libraryVersions, type Message, parseWithLibrary, requests } from './library.ts';

const RUNS = 25;
const compared = { request: new Set<string>(), response: new Set<string>(), fields: 0 };

const shared = everyVariant().filter(({ api, version }) => libraryVersions(api.name).has(version));

function encodeOurs(api: AnyApi, direction: 'request' | 'response', version: number, value: unknown): Buffer {
  const writer = new Writer();
  api[direction].encode(writer, version, value);
  return Buffer.from(writer.bytes());
}

afterAll(() => {
  const pairs = new Set([...compared.request, ...compared.response]);
  console.log(
    `differential: ${pairs.size} (key, version) pairs compared with @platformatic/kafka: ` +
      `${compared.request.size} requests byte for byte, ${compared.response.size} responses (${compared.fields} fields)`,
  );
});

describe('requests, byte for byte', () => {
  const variants = shared.filter(({ api, direction }) => direction === 'request' && api.name !== 'Produce');

  test.each(variants)('$title', (variant) => {
    const { api, version } = variant;
    const namespace = libraryVersions(api.name).get(version);
    const mapping = requests[api.name];
    assert.ok(namespace !== undefined && mapping !== undefined);
    fc.assert(
      fc.property(messageArbitrary(variant, { maxItems: 3, unknownTags: false }), (message) => {
        mapping.tame(message, version);
        const ours = encodeOurs(api, 'request', version, message);
        const theirs = namespace.createRequest(...mapping.args(message, version)).buffer;
        assert.equal(ours.toString('hex'), theirs.toString('hex'));
      }),
      { numRuns: RUNS, seed: 1279 },
    );
    compared.request.add(`${api.key}/${version}`);
  });

  const produce = shared.filter(({ api, direction }) => direction === 'request' && api.name === 'Produce');

  test.each(produce)(
    '$title: what the library writes is read and written again unchanged',
    ({ api, version }) => {
      const namespace = libraryVersions(api.name).get(version);
      const messages = [0, 1, 0].map((partition, index) => ({
        topic: index === 2 ? 'second' : 'first',
        partition,
        key: Buffer.from(`k${index}`),
        value: Buffer.alloc(index * 300, index),
        timestamp: 1700000000000n,
      }));
      for (const options of [{}, { transactionalId: 'txn' }]) {
        const theirs = namespace?.createRequest(-1, 1500, messages, options).buffer as Buffer;
        const reader = new Reader(theirs);
        const decoded = api.request.decode(reader, version) as ProduceRequest;
        expect([reader.badReason, reader.remaining]).toEqual([undefined, 0]);
        expect(decoded).toMatchObject({
          acks: -1,
          timeoutMs: 1500,
          transactionalId: options.transactionalId ?? null,
        });
        expect(
          decoded.topicData.map(({ name, partitionData }) => [name, partitionData.map(({ index }) => index)]),
        ).toEqual([
          ['first', [0, 1]],
          ['second', [0]],
        ]);
        expect(encodeOurs(api, 'request', version, decoded).equals(theirs)).toBe(true);
      }
      compared.request.add(`${api.key}/${version}`);
    },
  );
});

describe('responses, field for field', () => {
  const batch = Buffer.from(
    createRecordsBatch([{ topic: 't', value: Buffer.from('v'), timestamp: 1n }] as never, {} as never).buffer,
  );

  test.each(shared.filter(({ direction }) => direction === 'response'))('$title', (variant) => {
    const { api, version } = variant;
    const namespace = libraryVersions(api.name).get(version);
    assert.ok(namespace !== undefined);
    fc.assert(
      fc.property(messageArbitrary(variant, { maxItems: 3, unknownTags: false }), (message) => {
        knownErrorCodes(message);
        // From version 3 on the library takes an error for the short body that answers an unknown version.
        if (api.name === 'ApiVersions') message['errorCode'] = 0;
        // The library parses record bytes: give it whole batches.
        if (api.name === 'Fetch') withRecords(message, batch);
        const body = encodeOurs(api, 'response', version, message);
        const ours = api.response.decode(new Reader(body), version) as Message;
        const theirs = parseWithLibrary(namespace, api.key, version, body);
        sameFields(asLibrary(api, version, ours), theirs, api.name);
      }),
      { numRuns: RUNS, seed: 1279 },
    );
    compared.response.add(`${api.key}/${version}`);
  });
});

test('every (key, version) that both know was compared, in both directions', () => {
  const pairs = new Set(shared.map(({ api, version }) => `${api.key}/${version}`));
  expect(pairs.size).toBeGreaterThan(90);
  expect(compared.request).toEqual(pairs);
  expect(compared.response).toEqual(pairs);
  expect(apis.filter(({ name }) => libraryVersions(name).size > 0).length).toBe(21);
});

/** The library fails on error codes that it does not know. */
function knownErrorCodes(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(knownErrorCodes);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  const message = value as Message;
  for (const [name, field] of Object.entries(message)) {
    if (name.endsWith('rrorCode')) message[name] = Math.abs(field as number) % 110;
    else knownErrorCodes(field);
  }
}

function withRecords(message: Message, batch: Buffer): void {
  for (const topic of message['responses'] as Message[]) {
    for (const partition of topic['partitions'] as Message[]) {
      if (partition['records'] !== null)
        partition['records'] = (partition['records'] as Buffer).length > 3 ? batch : Buffer.alloc(0);
    }
  }
}

/** Our decoded response in the shape that the library gives old versions. */
function asLibrary(api: AnyApi, version: number, ours: Message): Message {
  if (api.name === 'FindCoordinator' && version < 4) {
    const { errorCode, errorMessage, nodeId, host, port } = ours;
    return { ...ours, coordinators: [{ key: '', errorCode, errorMessage, nodeId, host, port }] };
  }
  if (api.name === 'AddPartitionsToTxn' && version < 4) {
    return {
      ...ours,
      resultsByTransaction: [{ transactionalId: '', topicResults: ours['resultsByTopicV3AndBelow'] }],
    };
  }
  if (api.name === 'DescribeAcls') {
    const named = (resource: Message) => ({ ...resource, resourcePatternType: resource['patternType'] });
    return { ...ours, resources: (ours['resources'] as Message[]).map(named) };
  }
  if (api.name === 'Fetch' && version < 13) {
    const responses = (ours['responses'] as Message[]).map((topic) => ({
      ...topic,
      topicId: topic['topic'],
    }));
    return { ...ours, responses };
  }
  return ours;
}

/** Every field that the library knows must have our value. */
function sameFields(ours: unknown, theirs: unknown, path: string): void {
  if (Array.isArray(theirs) && path.endsWith('.records')) {
    assert.equal((ours as Buffer).length > 0, theirs.length > 0, path);
    return;
  }
  if (Array.isArray(theirs)) {
    assert.ok(Array.isArray(ours), path);
    assert.equal(ours.length, theirs.length, path);
    for (const [index, item] of theirs.entries()) sameFields(ours[index], item, `${path}[${index}]`);
    return;
  }
  if (typeof theirs === 'object' && theirs !== null) {
    for (const [name, value] of Object.entries(theirs)) {
      // The library adds the names of the keys that an ApiVersions response lists.
      if (name === 'name' && path.startsWith('ApiVersions.apiKeys')) continue;
      assert.ok(
        typeof ours === 'object' && ours !== null && name in ours,
        `${path}.${name} is not in our message`,
      );
      sameFields((ours as Message)[name], value, `${path}.${name}`);
    }
    return;
  }
  compared.fields++;
  if (typeof theirs === 'bigint' && typeof ours === 'number') assert.equal(BigInt(ours), theirs, path);
  else if (typeof theirs === 'string' && /^[0-9a-f-]{36}$/.test(theirs))
    assert.equal(hyphenated(ours as string), theirs, path);
  else assert.equal(ours, theirs, path);
}
