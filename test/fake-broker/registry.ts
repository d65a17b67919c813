import type { RequestInfo } from './controls.ts';
import type { ClusterState, VersionTable } from './state.ts';
import type { In, Out } from './wire.ts';
import { addPartitionsToTxn } from './api/24-add-partitions-to-txn.ts';
import { apiVersions } from './api/18-api-versions.ts';
import { deleteTopics } from './api/20-delete-topics.ts';
import { describeCluster } from './api/60-describe-cluster.ts';
import { endTxn } from './api/26-end-txn.ts';
import { fetch } from './api/01-fetch.ts';
import { findCoordinator } from './api/10-find-coordinator.ts';
import { initProducerId } from './api/22-init-producer-id.ts';
import { listOffsets } from './api/02-list-offsets.ts';
import { metadata } from './api/03-metadata.ts';
import { offsetForLeaderEpoch } from './api/23-offset-for-leader-epoch.ts';
import { produce } from './api/00-produce.ts';
import { writeTxnMarkers } from './api/27-write-txn-markers.ts';

export interface HandlerContext {
  readonly state: ClusterState;
  readonly request: RequestInfo;
  readonly version: number;
  /** Error code that a `fail` control wants in every entry: no effect then. */
  readonly fail: number | undefined;
  readonly closed: () => boolean;
}

/** What a handler says: the body to send (null for a request without an answer), or that the connection is closed. */
export interface Reply {
  readonly body: Out | null;
  readonly close?: boolean;
}

export interface Handler {
  readonly versions: readonly [number, number];
  readonly flexibleFrom: number;
  /** Reads the request at once and applies its effect; may wait (Fetch with nothing to give). */
  handle(input: In, output: Out, context: HandlerContext): Reply | Promise<Reply>;
}

export const handlers: ReadonlyMap<number, Handler> = new Map<number, Handler>([
  [0, produce],
  [1, fetch],
  [2, listOffsets],
  [3, metadata],
  [10, findCoordinator],
  [18, apiVersions],
  [20, deleteTopics],
  [22, initProducerId],
  [23, offsetForLeaderEpoch],
  [24, addPartitionsToTxn],
  [26, endTxn],
  [27, writeTxnMarkers],
  [60, describeCluster],
]);

export function defaultVersions(): VersionTable {
  return new Map([...handlers].map(([key, { versions }]) => [key, { min: versions[0], max: versions[1] }]));
}
