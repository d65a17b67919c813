/** The registry of every API that we can read and write, by key and by name. */

import { produceApi } from './00-produce.ts';
import { fetchApi } from './01-fetch.ts';
import { listOffsetsApi } from './02-list-offsets.ts';
import { metadataApi } from './03-metadata.ts';
import { apiVersionsApi } from './18-api-versions.ts';
import { offsetForLeaderEpochApi } from './23-offset-for-leader-epoch.ts';
import { writeTxnMarkersApi } from './27-write-txn-markers.ts';
import type { AnyApi } from './api.ts';

export * from './00-produce.ts';
export * from './01-fetch.ts';
export * from './02-list-offsets.ts';
export * from './03-metadata.ts';
export * from './18-api-versions.ts';
export * from './23-offset-for-leader-epoch.ts';
export * from './27-write-txn-markers.ts';
export type {
  AnyApi,
  Api,
  Direction,
  MessageCodec,
  RequestInput,
  RequestOf,
  ResponseInput,
  ResponseOf,
} from './api.ts';
export type { Decoded, Fields, Input, UnknownTag } from './notation.ts';

export const apis: readonly AnyApi[] = [
  produceApi,
  fetchApi,
  listOffsetsApi,
  metadataApi,
  apiVersionsApi,
  offsetForLeaderEpochApi,
  writeTxnMarkersApi,
];

const byKey = new Map(apis.map((api) => [api.key, api]));
const byName = new Map(apis.map((api) => [api.name, api]));

export function apiByKey(key: number): AnyApi | undefined {
  return byKey.get(key);
}

export function apiByName(name: string): AnyApi | undefined {
  return byName.get(name);
}
