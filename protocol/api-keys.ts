/**
 * Every API key with its name and its first flexible version: enough to parse the header of any frame, also of those
 * that are forwarded unread. Keys 0-93 are stock (4-7 ended with 3.9). Keys 94-107 are KIP-1279's, revision R-July with
 * 106 and 107 of its late form; Kafka 4.4.0 itself gave 94 to UnregisterController, a body we never read. 32001 is ours.
 */

const NEVER = Number.POSITIVE_INFINITY;

/** Our own API: JSON in, JSON out. */
export const ISTHMUS_API_KEY = 32001;

const rows: readonly (readonly [key: number, name: string, flexibleFrom: number])[] = [
  [0, 'Produce', 9],
  [1, 'Fetch', 12],
  [2, 'ListOffsets', 6],
  [3, 'Metadata', 9],
  [4, 'LeaderAndIsr', 4],
  [5, 'StopReplica', 2],
  [6, 'UpdateMetadata', 6],
  [7, 'ControlledShutdown', 3],
  [8, 'OffsetCommit', 8],
  [9, 'OffsetFetch', 6],
  [10, 'FindCoordinator', 3],
  [11, 'JoinGroup', 6],
  [12, 'Heartbeat', 4],
  [13, 'LeaveGroup', 4],
  [14, 'SyncGroup', 4],
  [15, 'DescribeGroups', 5],
  [16, 'ListGroups', 3],
  [17, 'SaslHandshake', NEVER],
  [18, 'ApiVersions', 3],
  [19, 'CreateTopics', 5],
  [20, 'DeleteTopics', 4],
  [21, 'DeleteRecords', 2],
  [22, 'InitProducerId', 2],
  [23, 'OffsetForLeaderEpoch', 4],
  [24, 'AddPartitionsToTxn', 3],
  [25, 'AddOffsetsToTxn', 3],
  [26, 'EndTxn', 3],
  [27, 'WriteTxnMarkers', 1],
  [28, 'TxnOffsetCommit', 3],
  [29, 'DescribeAcls', 2],
  [30, 'CreateAcls', 2],
  [31, 'DeleteAcls', 2],
  [32, 'DescribeConfigs', 4],
  [33, 'AlterConfigs', 2],
  [34, 'AlterReplicaLogDirs', 2],
  [35, 'DescribeLogDirs', 2],
  [36, 'SaslAuthenticate', 2],
  [37, 'CreatePartitions', 2],
  [38, 'CreateDelegationToken', 2],
  [39, 'RenewDelegationToken', 2],
  [40, 'ExpireDelegationToken', 2],
  [41, 'DescribeDelegationToken', 2],
  [42, 'DeleteGroups', 2],
  [43, 'ElectLeaders', 2],
  [44, 'IncrementalAlterConfigs', 1],
  [45, 'AlterPartitionReassignments', 0],
  [46, 'ListPartitionReassignments', 0],
  [47, 'OffsetDelete', NEVER],
  [48, 'DescribeClientQuotas', 1],
  [49, 'AlterClientQuotas', 1],
  [50, 'DescribeUserScramCredentials', 0],
  [51, 'AlterUserScramCredentials', 0],
  [52, 'Vote', 0],
  [53, 'BeginQuorumEpoch', 1],
  [54, 'EndQuorumEpoch', 1],
  [55, 'DescribeQuorum', 0],
  [56, 'AlterPartition', 0],
  [57, 'UpdateFeatures', 0],
  [58, 'Envelope', 0],
  [59, 'FetchSnapshot', 0],
  [60, 'DescribeCluster', 0],
  [61, 'DescribeProducers', 0],
  [62, 'BrokerRegistration', 0],
  [63, 'BrokerHeartbeat', 0],
  [64, 'UnregisterBroker', 0],
  [65, 'DescribeTransactions', 0],
  [66, 'ListTransactions', 0],
  [67, 'AllocateProducerIds', 0],
  [68, 'ConsumerGroupHeartbeat', 0],
  [69, 'ConsumerGroupDescribe', 0],
  [70, 'ControllerRegistration', 0],
  [71, 'GetTelemetrySubscriptions', 0],
  [72, 'PushTelemetry', 0],
  [73, 'AssignReplicasToDirs', 0],
  [74, 'ListConfigResources', 0],
  [75, 'DescribeTopicPartitions', 0],
  [76, 'ShareGroupHeartbeat', 0],
  [77, 'ShareGroupDescribe', 0],
  [78, 'ShareFetch', 0],
  [79, 'ShareAcknowledge', 0],
  [80, 'AddRaftVoter', 0],
  [81, 'RemoveRaftVoter', 0],
  [82, 'UpdateRaftVoter', 0],
  [83, 'InitializeShareGroupState', 0],
  [84, 'ReadShareGroupState', 0],
  [85, 'WriteShareGroupState', 0],
  [86, 'DeleteShareGroupState', 0],
  [87, 'ReadShareGroupStateSummary', 0],
  [88, 'StreamsGroupHeartbeat', 0],
  [89, 'StreamsGroupDescribe', 0],
  [90, 'DescribeShareGroupOffsets', 0],
  [91, 'AlterShareGroupOffsets', 0],
  [92, 'DeleteShareGroupOffsets', 0],
  [93, 'StreamsGroupTopologyDescriptionUpdate', 0],
  [94, 'CreateClusterMirror', 0],
  [95, 'StartMirrorTopics', 0],
  [96, 'StopMirrorTopics', 0],
  [97, 'LastMirroredOffsets', 0],
  [98, 'ListClusterMirrors', 0],
  [99, 'DescribeClusterMirrors', 0],
  [100, 'ReadMirrorStates', 0],
  [101, 'WriteMirrorStates', 0],
  [102, 'PauseMirrorTopics', 0],
  [103, 'ResumeMirrorTopics', 0],
  [104, 'DeleteClusterMirror', 0],
  [105, 'BumpLeaderEpochs', 0],
  [106, 'ReadMirrorOffsets', 0],
  [107, 'RecoverMirrorTopics', 0],
  [ISTHMUS_API_KEY, 'Isthmus', 0],
];

const byKey = new Map(rows.map(([key, name, flexible]) => [key, { name, flexible }]));

/** The name of a key, or `ApiKey(n)`. */
export function apiName(key: number): string {
  return byKey.get(key)?.name ?? `ApiKey(${key})`;
}

/** First flexible version of a key; Infinity: none; undefined: the key is not known. */
export function flexibleFrom(key: number): number | undefined {
  return byKey.get(key)?.flexible;
}

export function knownApiKeys(): readonly number[] {
  return [...byKey.keys()];
}
