import { expect, test } from 'vitest';
import { encodeResponse } from '../../protocol/frame/index.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { rewriteEndpoints } from '../../src/gateway/endpoints.ts';
import { walkFetch } from '../../src/gateway/fetch-walk.ts';
import { NodeMap } from '../../src/gateway/node-map.ts';
import type { ResponseSeen } from '../../src/gateway/rule.ts';
import { metadataRule } from '../../src/gateway/rules/metadata.ts';
import { TopicIds } from '../../src/gateway/topic-ids.ts';
import { gatewayNotice } from '../../src/observe/channels.ts';
import { Out } from '../fake-broker/index.ts';

/**
 * Case S4, own faults: answers that are walked may be as large as a frame, and what a hostile broker repeats in them was
 * kept, entry for entry, and told, line for line.
 */
const TOO_MANY = 100_001;
const nodes = () => new NodeMap('gw', new Map([[1, { host: 'gw', port: 9_192 }]]));

function seen(frame: Buffer): ResponseSeen {
  return {
    frame,
    apiVersion: 9,
    nodes: nodes(),
    ids: new TopicIds(async () => new Map()),
    config: { name: 'gw' },
    clusterId: () => null,
    brokersTold: () => undefined,
  } as unknown as ResponseSeen;
}

test('Metadata with one broker over and over is refused', () => {
  const brokers = Array.from({ length: TOO_MANY }, () => ({ nodeId: 1, host: 'a', port: 1 }));
  const frame = encodeResponse(metadataApi, 9, 1, { brokers, topics: [] }).subarray(4);
  expect(() => metadataRule.response?.run(seen(frame))).toThrow('100001 brokers');
});

test('so are node endpoints, and tags around them', () => {
  const endpoint = Buffer.from([0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0]);
  const entries = Buffer.alloc(TOO_MANY * endpoint.length, endpoint);
  const list = new Out(true)
    .uvar(TOO_MANY + 1)
    .raw(entries)
    .done();
  const tags = new Out(true).uvar(1).uvar(0).uvar(list.length).raw(list).done();
  expect(() => rewriteEndpoints(tags, 0, nodes())).toThrow('100001 brokers');
  const many = new Out(true)
    .uvar(TOO_MANY)
    .raw(Buffer.alloc(TOO_MANY * 2, Buffer.from([9, 0])))
    .done();
  expect(() => rewriteEndpoints(many, 0, nodes())).toThrow('100001 tagged fields');
});

test('a Fetch answer with records for more partitions than anyone asks for is refused', () => {
  // index, error, high watermark, last stable offset, log start, aborted, preferred replica, one byte of records, tags
  const partition = Buffer.concat([
    Buffer.alloc(30),
    Buffer.from([1]),
    Buffer.alloc(4),
    Buffer.from([2, 0, 0]),
  ]);
  const frame = new Out(true)
    .i32(1)
    .tags()
    .raw(Buffer.alloc(10))
    .uvar(2)
    .raw(Buffer.from([2, 0x74]))
    .uvar(TOO_MANY + 1)
    .raw(Buffer.alloc(TOO_MANY * partition.length, partition))
    .tags()
    .tags()
    .done();
  expect(walkFetch(frame, 12, true)).toMatch('more than 100000 partitions with records');
  expect(walkFetch(frame, 12, false)).toMatchObject({ partitions: [] });
});

test('brokers without a port are told of, a hundred of them', () => {
  const told: string[] = [];
  const unsubscribe = gatewayNotice.subscribe(({ message }) => told.push(message));
  const map = nodes();
  for (let node = 2; node < 5_000; node += 1) map.addressOf(node);
  unsubscribe();
  expect(told).toHaveLength(100);
});
