import { describe, expect, expectTypeOf, test } from 'vitest';
import { flexibleFrom, knownApiKeys } from '../../../../protocol/api-keys.ts';
import {
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeRequestChunks,
  encodeResponse,
  encodeResponseChunks,
  parseRequestHeader,
  parseResponseHeader,
  requestHeaderVersion,
  responseHeaderVersion,
  writeRequest,
} from '../../../../protocol/frame/index.ts';
import { Writer } from '../../../../protocol/primitives/writer.ts';
import { ProtocolError } from '../../../../protocol/protocol-error.ts';
import {
  apis,
  apiVersionsApi,
  fetchApi,
  type FetchRequest,
  type FetchRequestInput,
  type FetchResponse,
  metadataApi,
  produceApi,
} from '../../../../protocol/schema/index.ts';

/** The frame as a peer hands it on: without its size, which must be right. */
function unsized(bytes: Buffer): Buffer {
  expect(bytes.readInt32BE()).toBe(bytes.length - 4);
  return bytes.subarray(4);
}

describe('request frames', () => {
  test('a header of version 1 and one of version 2 are told apart by key and version', () => {
    for (const version of [8, 9]) {
      const frame = unsized(encodeRequest(metadataApi, version, 77, 'me', { topics: [{ name: 't' }] }));
      const header = parseRequestHeader(frame);
      expect(header).toMatchObject({ apiKey: 3, apiVersion: version, correlationId: 77, clientId: 'me' });
      expect(header.headerVersion).toBe(version < 9 ? 1 : 2);
      expect(decodeRequest(metadataApi, version, frame, header.bodyOffset).topics?.[0]?.name).toBe('t');
    }
  });

  test('a null client id and header tags come back', () => {
    const writer = new Writer();
    const tags = [{ tag: 3, bytes: Buffer.from('abc') }];
    writeRequest(writer, metadataApi, 12, 1, null, { topics: null }, tags);
    const frame = unsized(writer.bytes());
    const header = parseRequestHeader(frame);
    expect(header.clientId).toBeNull();
    expect(header.tags).toEqual(tags);
    expect(decodeRequest(metadataApi, 12, frame, header.bodyOffset).topics).toBeNull();
  });

  test('an unknown key still gives key, version, correlation and client id', () => {
    const frame = Buffer.from('1388000300000009000161ff', 'hex');
    expect(parseRequestHeader(frame)).toMatchObject({
      apiKey: 5000,
      apiVersion: 3,
      correlationId: 9,
      clientId: 'a',
      headerVersion: undefined,
      bodyOffset: -1,
    });
  });

  test('a header cut at each byte is refused by name', () => {
    const frame = unsized(encodeRequest(metadataApi, 12, 77, 'client', { topics: [] }));
    const { bodyOffset } = parseRequestHeader(frame);
    for (let end = 0; end < bodyOffset; end++) {
      expect(() => parseRequestHeader(frame.subarray(0, end))).toThrow(ProtocolError);
    }
  });
});

describe('response frames', () => {
  test('ApiVersions has response header 0 at every version, also flexible ones', () => {
    for (let version = 0; version <= 5; version++) {
      const apiKeys = [{ apiKey: 3, minVersion: 0, maxVersion: 13 }];
      const frame = unsized(encodeResponse(apiVersionsApi, version, 5, { apiKeys }));
      expect(parseResponseHeader(18, version, frame)).toMatchObject({ correlationId: 5, bodyOffset: 4 });
      expect(decodeResponse(apiVersionsApi, version, frame).apiKeys).toEqual(apiKeys);
    }
  });

  test('an unknown key is refused by name', () => {
    expect(() => parseResponseHeader(5000, 0, Buffer.alloc(20))).toThrow('ApiKey(5000) v0 response header');
  });

  test('bytes behind the body are an error unless asked for', () => {
    const frame = Buffer.concat([
      unsized(encodeResponse(metadataApi, 1, 5, { brokers: [], topics: [] })),
      Buffer.alloc(2),
    ]);
    expect(() => decodeResponse(metadataApi, 1, frame)).toThrow(
      'Metadata v1 response: at byte 16: 2 bytes behind the end of the message',
    );
    expect(decodeResponse(metadataApi, 1, frame, { trailing: true }).topics).toEqual([]);
  });

  test('an error names the message, the field and the byte', () => {
    const bytes = encodeResponse(fetchApi, 11, 5, {
      responses: [
        { topic: 't', partitions: [{ partitionIndex: 0, highWatermark: 1, records: Buffer.alloc(9) }] },
      ],
    });
    const frame = unsized(bytes).subarray(0, -1);
    let caught: unknown;
    try {
      decodeResponse(fetchApi, 11, frame);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(ProtocolError);
    expect(caught).toMatchObject({
      subject: 'Fetch v11 response',
      field: 'responses[0].partitions[0].records',
      reason: 'needs 9 bytes, 8 left',
    });
    expect(String(caught)).toContain('Fetch v11 response: responses[0].partitions[0].records at byte ');
  });
});

describe('record bytes', () => {
  const records = Buffer.alloc(4096, 5);

  test('are views of the frame after a decode, for Produce and Fetch of every version', () => {
    for (let version = produceApi.min; version <= produceApi.max; version++) {
      const body = { acks: -1, timeoutMs: 1, topicData: [{ partitionData: [{ index: 0, records }] }] };
      const frame = unsized(encodeRequest(produceApi, version, 1, null, body));
      const decoded = decodeRequest(produceApi, version, frame, parseRequestHeader(frame).bodyOffset);
      expect(decoded.topicData[0]?.partitionData[0]?.records?.buffer).toBe(frame.buffer);
    }
    for (let version = fetchApi.min; version <= fetchApi.max; version++) {
      const partitions = [{ partitionIndex: 0, highWatermark: 1, records }];
      const frame = unsized(encodeResponse(fetchApi, version, 1, { responses: [{ partitions }] }));
      const decoded = decodeResponse(fetchApi, version, frame);
      expect(decoded.responses[0]?.partitions[0]?.records?.buffer).toBe(frame.buffer);
    }
  });

  test('stand in the chunks as given, and the chunks are the whole frame', () => {
    const body = {
      acks: -1,
      timeoutMs: 1,
      topicData: [{ name: 't', partitionData: [{ index: 0, records }] }],
    };
    const request = encodeRequestChunks(produceApi, 11, 1, null, body);
    expect(request.some((chunk) => chunk === records)).toBe(true);
    expect(Buffer.concat(request).equals(encodeRequest(produceApi, 11, 1, null, body))).toBe(true);
    const answer = { responses: [{ partitions: [{ partitionIndex: 0, highWatermark: 1, records }] }] };
    const response = encodeResponseChunks(fetchApi, 16, 1, answer);
    expect(response.some((chunk) => chunk === records)).toBe(true);
    expect(Buffer.concat(response).equals(encodeResponse(fetchApi, 16, 1, answer))).toBe(true);
  });
});

describe('encoding', () => {
  test('names the field of a value that does not fit', () => {
    const encode = (body: FetchRequestInput) => () => encodeRequest(fetchApi, 17, 1, null, body);
    const topics = [{ partitions: [{ partition: 2 ** 31, fetchOffset: 0, partitionMaxBytes: 1 }] }];
    expect(encode({ maxWaitMs: 1, minBytes: 1, topics })).toThrow(
      'Fetch v17 request: topics[0].partitions[0].partition: 2147483648 is no int32',
    );
  });

  test('null where the version allows none is refused', () => {
    expect(() => encodeRequest(metadataApi, 9, 1, null, { topics: [{ name: null }] })).toThrow(
      'topics[0].name',
    );
    expect(() => encodeRequest(metadataApi, 0, 1, null, { topics: null })).toThrow('topics');
  });

  test('an unknown tag that the schema knows is refused', () => {
    const body = { maxWaitMs: 1, minBytes: 1, topics: [], unknownTags: [{ tag: 0, bytes: Buffer.alloc(1) }] };
    expect(() => encodeRequest(fetchApi, 17, 1, null, body)).toThrow('tag 0 is known to the schema');
  });

  test('tags out of order, doubled or longer than their field are refused', () => {
    const frame = unsized(encodeRequest(metadataApi, 12, 1, null, { topics: [] }));
    const { bodyOffset } = parseRequestHeader(frame);
    const body = frame.subarray(0, frame.length - 1);
    for (const tail of ['0205000400', '0205000500']) {
      const bad = Buffer.concat([body, Buffer.from(tail, 'hex')]);
      expect(() => decodeRequest(metadataApi, 12, bad, bodyOffset)).toThrow('does not come after tag 5');
    }
    const versions = unsized(encodeResponse(apiVersionsApi, 3, 1, { apiKeys: [] }));
    const long = Buffer.concat([versions.subarray(0, -1), Buffer.from('0103020100', 'hex')]);
    expect(() => decodeResponse(apiVersionsApi, 3, long)).toThrow('zkMigrationReady at byte');
  });
});

describe('types read off the descriptions', () => {
  test('decoded values have every field, inputs only those without a default', () => {
    expectTypeOf<
      FetchRequest['topics'][number]['partitions'][number]['fetchOffset']
    >().toEqualTypeOf<number>();
    expectTypeOf<FetchRequest['clusterId']>().toEqualTypeOf<string | null>();
    expectTypeOf<
      FetchResponse['responses'][number]['partitions'][number]['records']
    >().toEqualTypeOf<Buffer | null>();
    expectTypeOf<FetchRequestInput['clusterId']>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<FetchRequestInput['maxWaitMs']>().toEqualTypeOf<number>();
    expectTypeOf<FetchRequest>().toExtend<FetchRequestInput>();
  });
});

describe('the table of keys', () => {
  test('agrees with the schemas', () => {
    for (const api of apis) {
      expect(flexibleFrom(api.key)).toBe(api.flexibleFrom);
      for (let version = api.min; version <= api.max; version++) {
        expect(requestHeaderVersion(api.key, version)).toBe(version >= api.flexibleFrom ? 2 : 1);
      }
    }
  });

  test('knows every key from 0 to 107 and our own', () => {
    const keys = knownApiKeys();
    expect(keys).toEqual([...Array.from({ length: 108 }, (_, key) => key), 32001]);
    expect(responseHeaderVersion(17, 1)).toBe(0);
    expect(responseHeaderVersion(4711, 0)).toBeUndefined();
  });
});
