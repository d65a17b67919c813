import type {
  MirrorRecord,
  PartitionRecord,
  PartitionState,
  StopProgress,
  TopicRecord,
} from '../../../../../src/control/state/types.ts';

export const mirrorRecord: MirrorRecord = {
  kind: 'mirror',
  name: 'east-to-west',
  source: 'east',
  sourceClusterId: 'east-id',
  destination: 'west',
  topics: { include: ['orders'], exclude: [] },
  copier: 'link',
  replicationFactor: 0,
  createdAt: 1,
  deletedAt: null,
};

export const topicRecord: TopicRecord = {
  kind: 'topic',
  topic: 'orders',
  mirror: 'east-to-west',
  sourceTopicId: 'source-orders-id',
  destinationTopicId: 'destination-orders-id',
  partitions: 1,
  desired: 'MIRRORING',
  generation: 1,
  sourceSettings: {},
  configsPending: false,
  error: '',
  createdByUs: true,
  startedAt: 1,
};

export function partitionRecord(state: PartitionState, more: Partial<PartitionRecord> = {}): PartitionRecord {
  return {
    kind: 'partition',
    topic: 'orders',
    partition: 0,
    state,
    previousState: 'UNKNOWN',
    retryAttempt: 0,
    errorMessage: '',
    lastMirrored: { offset: -1, sourceEpoch: -1 },
    persistedEnd: 0,
    epochs: [],
    openIds: [],
    unverified: [],
    settledBy: '',
    sourceClusterId: 'east-id',
    sourceTopicId: 'source-orders-id',
    sourceEnd: -1,
    sourceEndAt: 0,
    stop: null,
    report: null,
    barriers: [],
    ...more,
  };
}

export function stopProgress(more: Partial<StopProgress> = {}): StopProgress {
  return {
    step: 0,
    barrierOffset: -1,
    generation: 1,
    barrierHash: 0n,
    startedAt: 1,
    acceptDamage: false,
    ...more,
  };
}
