/** The registry of every API that we can read and write, by key. */

import { produceApi } from './00-produce.ts';
import { fetchApi } from './01-fetch.ts';
import { listOffsetsApi } from './02-list-offsets.ts';
import { metadataApi } from './03-metadata.ts';
import { findCoordinatorApi } from './10-find-coordinator.ts';
import { apiVersionsApi } from './18-api-versions.ts';
import { createTopicsApi } from './19-create-topics.ts';
import { deleteTopicsApi } from './20-delete-topics.ts';
import { deleteRecordsApi } from './21-delete-records.ts';
import { initProducerIdApi } from './22-init-producer-id.ts';
import { offsetForLeaderEpochApi } from './23-offset-for-leader-epoch.ts';
import { addPartitionsToTxnApi } from './24-add-partitions-to-txn.ts';
import { endTxnApi } from './26-end-txn.ts';
import { writeTxnMarkersApi } from './27-write-txn-markers.ts';
import { describeAclsApi } from './29-describe-acls.ts';
import { describeConfigsApi } from './32-describe-configs.ts';
import { alterConfigsApi } from './33-alter-configs.ts';
import { createPartitionsApi } from './37-create-partitions.ts';
import { incrementalAlterConfigsApi } from './44-incremental-alter-configs.ts';
import { describeClusterApi } from './60-describe-cluster.ts';
import { describeTransactionsApi } from './65-describe-transactions.ts';
import { listTransactionsApi } from './66-list-transactions.ts';
import { createClusterMirrorApi } from './94-create-cluster-mirror.ts';
import { startMirrorTopicsApi } from './95-start-mirror-topics.ts';
import { stopMirrorTopicsApi } from './96-stop-mirror-topics.ts';
import { listClusterMirrorsApi } from './98-list-cluster-mirrors.ts';
import { describeClusterMirrorsApi } from './99-describe-cluster-mirrors.ts';
import { deleteClusterMirrorApi } from './104-delete-cluster-mirror.ts';
import { isthmusApi } from './32001-isthmus.ts';
import type { AnyApi } from './api.ts';

export * from './00-produce.ts';
export * from './01-fetch.ts';
export * from './02-list-offsets.ts';
export * from './03-metadata.ts';
export * from './10-find-coordinator.ts';
export * from './18-api-versions.ts';
export * from './19-create-topics.ts';
export * from './20-delete-topics.ts';
export * from './21-delete-records.ts';
export * from './22-init-producer-id.ts';
export * from './23-offset-for-leader-epoch.ts';
export * from './24-add-partitions-to-txn.ts';
export * from './26-end-txn.ts';
export * from './27-write-txn-markers.ts';
export * from './29-describe-acls.ts';
export * from './32-describe-configs.ts';
export * from './33-alter-configs.ts';
export * from './37-create-partitions.ts';
export * from './44-incremental-alter-configs.ts';
export * from './60-describe-cluster.ts';
export * from './65-describe-transactions.ts';
export * from './66-list-transactions.ts';
export * from './94-create-cluster-mirror.ts';
export * from './95-start-mirror-topics.ts';
export * from './96-stop-mirror-topics.ts';
export * from './98-list-cluster-mirrors.ts';
export * from './99-describe-cluster-mirrors.ts';
export * from './104-delete-cluster-mirror.ts';
export * from './32001-isthmus.ts';
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
  findCoordinatorApi,
  apiVersionsApi,
  createTopicsApi,
  deleteTopicsApi,
  deleteRecordsApi,
  initProducerIdApi,
  offsetForLeaderEpochApi,
  addPartitionsToTxnApi,
  endTxnApi,
  writeTxnMarkersApi,
  describeAclsApi,
  describeConfigsApi,
  alterConfigsApi,
  createPartitionsApi,
  incrementalAlterConfigsApi,
  describeClusterApi,
  describeTransactionsApi,
  listTransactionsApi,
  createClusterMirrorApi,
  startMirrorTopicsApi,
  stopMirrorTopicsApi,
  listClusterMirrorsApi,
  describeClusterMirrorsApi,
  deleteClusterMirrorApi,
  isthmusApi,
];

const byKey = new Map(apis.map((api) => [api.key, api]));

export function apiByKey(key: number): AnyApi | undefined {
  return byKey.get(key);
}
