/**
 * Request and response headers. A frame here is what follows the four bytes of the size.
 *
 * Request header 1: api key, api version, correlation id, client id (int16 length). Header 2 adds tagged fields; the
 * client id stays a non-compact string. Response header 0: correlation id; header 1 adds tagged fields. Flexible
 * versions use 2 and 1, with one exception: the response of ApiVersions always has header 0.
 */

import { apiName, flexibleFrom } from '../api-keys.ts';
import { Reader } from '../primitives/reader.ts';
import { ProtocolError } from '../protocol-error.ts';
import type { UnknownTag } from '../schema/notation.ts';

const API_VERSIONS = 18;

export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string | null;
  /** 1 or 2; undefined for a key that the table does not know, whose body cannot be found. */
  readonly headerVersion: 1 | 2 | undefined;
  /** Tagged fields of header 2. */
  readonly tags: readonly UnknownTag[];
  /** Where the body begins in the frame; -1 when `headerVersion` is undefined. */
  readonly bodyOffset: number;
}

export interface ResponseHeader {
  readonly correlationId: number;
  readonly tags: readonly UnknownTag[];
  readonly bodyOffset: number;
}

/** True/false by the table of keys; undefined for an unknown key. */
export function isFlexible(apiKey: number, apiVersion: number): boolean | undefined {
  const from = flexibleFrom(apiKey);
  return from === undefined ? undefined : apiVersion >= from;
}

export function requestHeaderVersion(apiKey: number, apiVersion: number): 1 | 2 | undefined {
  const flexible = isFlexible(apiKey, apiVersion);
  return flexible === undefined ? undefined : flexible ? 2 : 1;
}

export function responseHeaderVersion(apiKey: number, apiVersion: number): 0 | 1 | undefined {
  if (apiKey === API_VERSIONS) return 0;
  const flexible = isFlexible(apiKey, apiVersion);
  return flexible === undefined ? undefined : flexible ? 1 : 0;
}

const NO_TAGS: readonly UnknownTag[] = [];
/** No header has any today. Each becomes an object of many times its two bytes (case S3). */
const MOST_TAGS = 1_000;

/** Throws ProtocolError on a frame that does not hold a whole header. */
export function parseRequestHeader(frame: Uint8Array): RequestHeader {
  const reader = new Reader(frame);
  const apiKey = reader.int16();
  const apiVersion = reader.int16();
  const correlationId = reader.int32();
  const clientId = reader.nullableString();
  const headerVersion = requestHeaderVersion(apiKey, apiVersion);
  const tags = headerVersion === 2 ? readTags(reader) : NO_TAGS;
  if (!reader.ok) throw headerError(`${apiName(apiKey)} v${apiVersion} request header`, reader);
  const bodyOffset = headerVersion === undefined ? -1 : reader.position;
  return { apiKey, apiVersion, correlationId, clientId, headerVersion, tags, bodyOffset };
}

/** Throws ProtocolError on a short frame and on a key that the table does not know. */
export function parseResponseHeader(apiKey: number, apiVersion: number, frame: Uint8Array): ResponseHeader {
  const what = `${apiName(apiKey)} v${apiVersion} response header`;
  const version = responseHeaderVersion(apiKey, apiVersion);
  if (version === undefined) throw new ProtocolError(what, `api key ${apiKey} is not known`);
  const reader = new Reader(frame);
  const correlationId = reader.int32();
  const tags = version === 1 ? readTags(reader) : NO_TAGS;
  if (!reader.ok) throw headerError(what, reader);
  return { correlationId, tags, bodyOffset: reader.position };
}

function readTags(reader: Reader): readonly UnknownTag[] {
  const count = reader.uvarint();
  if (count === 0) return NO_TAGS;
  if (count > MOST_TAGS) reader.bad(`${count} tagged fields, at most ${MOST_TAGS} are read`);
  const tags: UnknownTag[] = [];
  for (let index = 0; index < count && reader.ok; index++) {
    const tag = reader.uvarint();
    tags.push({ tag, bytes: reader.raw(reader.uvarint()) });
  }
  return tags;
}

function headerError(what: string, reader: Reader): ProtocolError {
  return new ProtocolError(what, reader.badReason ?? 'bad header', '', reader.badAt);
}
