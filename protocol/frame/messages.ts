/** Whole frames: encode with size and header, decode a body behind its header. */

import { Reader } from '../primitives/reader.ts';
import { Writer } from '../primitives/writer.ts';
import { ProtocolError } from '../protocol-error.ts';
import { type Direction, type MessageCodec, messageName } from '../schema/api.ts';
import type { UnknownTag } from '../schema/notation.ts';
import { parseResponseHeader } from './headers.ts';

const API_VERSIONS = 18;
/** Byte fields from this size on stay references in `encode…Chunks`. */
const KEEP_FROM = 1024;

interface Named {
  readonly key: number;
  readonly name: string;
  readonly flexibleFrom: number;
}

export interface DecodeOptions {
  /** Accept bytes behind the body (default: they are an error). */
  readonly trailing?: boolean;
}

/** Writes size, header and body of a request. Throws ProtocolError if a value does not fit the version. */
export function writeRequest<I>(
  writer: Writer,
  api: Named & { readonly request: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  clientId: string | null,
  body: NoInfer<I>,
  headerTags: readonly UnknownTag[] = [],
): void {
  const mark = writer.beginSize32();
  writer.int16(api.key);
  writer.int16(version);
  writer.int32(correlationId);
  writer.string(clientId);
  if (version >= api.flexibleFrom) writeTags(writer, headerTags);
  if (!writer.ok) {
    throw new ProtocolError(
      `${messageName(api, 'request', version)} header`,
      writer.badReason ?? 'bad value',
    );
  }
  api.request.encode(writer, version, body);
  writer.fillSize32(mark);
}

/** Writes size, header and body of a response. Throws ProtocolError if a value does not fit the version. */
export function writeResponse<I>(
  writer: Writer,
  api: Named & { readonly response: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  body: NoInfer<I>,
  headerTags: readonly UnknownTag[] = [],
): void {
  const mark = writer.beginSize32();
  writer.int32(correlationId);
  if (version >= api.flexibleFrom && api.key !== API_VERSIONS) writeTags(writer, headerTags);
  api.response.encode(writer, version, body);
  writer.fillSize32(mark);
}

/** A whole request frame with its size, in a buffer of its own. */
export function encodeRequest<I>(
  api: Named & { readonly request: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  clientId: string | null,
  body: NoInfer<I>,
): Buffer {
  const writer = new Writer();
  writeRequest(writer, api, version, correlationId, clientId, body);
  return writer.bytes();
}

/** As encodeRequest, but byte fields of 1 KiB and more are not copied: they stand in the list as given. */
export function encodeRequestChunks<I>(
  api: Named & { readonly request: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  clientId: string | null,
  body: NoInfer<I>,
): Uint8Array[] {
  const writer = new Writer({ keepFrom: KEEP_FROM });
  writeRequest(writer, api, version, correlationId, clientId, body);
  return writer.chunks();
}

/** A whole response frame with its size, in a buffer of its own. */
export function encodeResponse<I>(
  api: Named & { readonly response: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  body: NoInfer<I>,
): Buffer {
  const writer = new Writer();
  writeResponse(writer, api, version, correlationId, body);
  return writer.bytes();
}

/** As encodeResponse, but byte fields of 1 KiB and more are not copied: they stand in the list as given. */
export function encodeResponseChunks<I>(
  api: Named & { readonly response: MessageCodec<unknown, I> },
  version: number,
  correlationId: number,
  body: NoInfer<I>,
): Uint8Array[] {
  const writer = new Writer({ keepFrom: KEEP_FROM });
  writeResponse(writer, api, version, correlationId, body);
  return writer.chunks();
}

/** Decodes the body of a request frame (without its size) from `bodyOffset` on. Throws ProtocolError. */
export function decodeRequest<D>(
  api: { readonly name: string; readonly request: MessageCodec<D, never> },
  version: number,
  frame: Uint8Array,
  bodyOffset: number,
  options?: DecodeOptions,
): D {
  return decodeBody(api, api.request, 'request', version, frame, bodyOffset, options);
}

/** Decodes the body of a response frame (without its size), header skipped. Throws ProtocolError. */
export function decodeResponse<D>(
  api: { readonly key: number; readonly name: string; readonly response: MessageCodec<D, never> },
  version: number,
  frame: Uint8Array,
  options?: DecodeOptions,
): D {
  const { bodyOffset } = parseResponseHeader(api.key, version, frame);
  return decodeBody(api, api.response, 'response', version, frame, bodyOffset, options);
}

function decodeBody<D>(
  api: { readonly name: string },
  codec: MessageCodec<D, never>,
  direction: Direction,
  version: number,
  frame: Uint8Array,
  start: number,
  options: DecodeOptions = {},
): D {
  const reader = new Reader(frame, start);
  const value = codec.decode(reader, version);
  if (reader.ok && reader.remaining > 0 && options.trailing !== true) {
    reader.bad(`${reader.remaining} bytes behind the end of the message`);
  }
  if (reader.ok) return value;
  const what = messageName(api, direction, version);
  throw new ProtocolError(what, reader.badReason ?? 'bad bytes', reader.badPath, reader.badAt);
}

function writeTags(writer: Writer, tags: readonly UnknownTag[]): void {
  writer.uvarint(tags.length);
  for (const { tag, bytes } of tags) {
    writer.uvarint(tag);
    writer.uvarint(bytes.length);
    writer.raw(bytes);
  }
}
